import { INVOICE_STATES, type Invoice } from "../../domain/invoice.ts";
import { recordKind } from "./batch.ts";
import { amount, currency, identifier, moment, oneOf, optional, text } from "./fields.ts";

export const INVOICES = recordKind<Invoice>("invoices", {
  id: identifier,
  state: oneOf("INVOICE_STATE_", INVOICE_STATES),
  customerId: identifier,
  subscriptionId: optional(identifier),
  businessEntity: optional(text),
  amount,
  amountDue: optional(amount),
  currency,
  createdAt: moment,
  updatedAt: optional(moment),
});
