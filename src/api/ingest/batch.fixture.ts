// What the tests of batches begin with: records that are right, and the refusal of those that are not.
import assert from "node:assert/strict";
import type { Invoice } from "../../domain/invoice.ts";
import { ApiError } from "../errors.ts";
import { type RecordKind, readBatch } from "./batch.ts";
import { INVOICES } from "./invoice.ts";
import { TRANSACTIONS } from "./transaction.ts";

export const INVOICE = {
  id: "in_1",
  state: "INVOICE_STATE_UNPAID",
  customerId: "cus_1",
  amount: 1999,
  currency: "EUR",
  createdAt: "2026-01-15T10:00:00Z",
};
export const TRANSACTION = { ...INVOICE, id: "tx_1", state: "TRANSACTION_STATE_FAILED", invoiceId: "in_1" };
export const VISA = "4111111111111111";

export const bytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
/** The records of a body, as the domain has them. */
export const read = <Row>(kind: RecordKind<Row>, body: Buffer): Row[] => readBatch(kind, body);
export const invoices = (...records: unknown[]) => read(INVOICES, bytes({ invoices: records }));
export const invoiceWith = (fields: object) => invoices({ ...INVOICE, ...fields })[0] as Invoice;
export const transactionWith = (fields: object) =>
  read(TRANSACTIONS, bytes({ transactions: [{ ...TRANSACTION, ...fields }] }))[0]!;
/** A body of one invoice in which a field stands as this very text. */
export const invoiceText = (field: string, literal: string) =>
  `{"invoices": [${JSON.stringify({ ...INVOICE, [field]: "@" }).replace('"@"', literal)}]}`;

/** The message of the 400 that `read` throws. */
export function refusal(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 400);
    return error.message;
  }
  return assert.fail("accepted");
}
export const textRefusal = (text: string | Buffer) => refusal(() => readBatch(INVOICES, Buffer.from(text)));
