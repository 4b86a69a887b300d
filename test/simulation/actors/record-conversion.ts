import type * as pushed from "#sdk";
import type { Invoice } from "../../../src/domain/invoice.ts";
import type { Subscription } from "../../../src/domain/subscription.ts";
import type { Transaction } from "../../../src/domain/transaction.ts";

export type RecordKindName = "subscriptions" | "transactions" | "invoices";
export type StoredRecord = Subscription | Transaction | Invoice;

const TIME_FIELDS = ["createdAt", "updatedAt", "activatedAt", "canceledAt", "expiresAt"];
const PREFIXES =
  /^(SUBSCRIPTION_STATE|INVOICE_STATE|TRANSACTION_STATE|BILLING_PERIOD_UNIT|CARD_FUNDING|TRANSACTION_INITIATOR)_/;

/** Converts a record as the API does before ingest. */
export function toDomainRecord(record: pushed.Subscription | pushed.Transaction | pushed.Invoice): StoredRecord {
  const entries = Object.entries(record).map(([field, value]) => {
    if (TIME_FIELDS.includes(field)) return [field, new Date(value as string)];
    return [field, typeof value === "string" ? value.replace(PREFIXES, "") : value];
  });
  return Object.fromEntries(entries) as unknown as StoredRecord;
}
