import { INVOICE_STATES, type InvoiceRecord } from "../domain/invoice.ts";
import { createRecordKind } from "./parse-batch.ts";
import { amount, currency, enumField, identifier, optionalField, text, timestamp } from "./record-fields.ts";

export const INVOICE_KIND = createRecordKind<InvoiceRecord>("invoices", {
  id: identifier,
  state: enumField("INVOICE_STATE_", INVOICE_STATES),
  customerId: identifier,
  subscriptionId: optionalField(identifier),
  businessEntity: optionalField(text),
  amount,
  amountDue: optionalField(amount),
  currency,
  createdAt: timestamp,
  updatedAt: optionalField(timestamp),
});
