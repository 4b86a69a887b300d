import assert from "node:assert/strict";
import type { Invoice } from "../domain/invoice.ts";
import { ApiError } from "../http/errors.ts";
import { INVOICE_KIND } from "./invoice-record.ts";
import { parseBatch, type RecordKind } from "./parse-batch.ts";
import { TRANSACTION_KIND } from "./transaction-record.ts";

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

export const toBytes = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
export const parseFixture = <Row>(kind: RecordKind<Row>, body: Buffer): Row[] => parseBatch(kind, body);
export const parseInvoices = (...records: unknown[]) => parseFixture(INVOICE_KIND, toBytes({ invoices: records }));
export const parseInvoiceWith = (fields: object) => parseInvoices({ ...INVOICE, ...fields })[0] as Invoice;
export const parseTransactionWith = (fields: object) =>
  parseFixture(TRANSACTION_KIND, toBytes({ transactions: [{ ...TRANSACTION, ...fields }] }))[0]!;
/** Returns a body of one invoice, with a field written literally. */
export const invoiceJsonWith = (field: string, literal: string) =>
  `{"invoices": [${JSON.stringify({ ...INVOICE, [field]: "@" }).replace('"@"', literal)}]}`;

export function refusalMessage(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    assert.equal(error.status, 400);
    return error.message;
  }
  return assert.fail("accepted");
}
export const textRefusalMessage = (text: string | Buffer) =>
  refusalMessage(() => parseBatch(INVOICE_KIND, Buffer.from(text)));
