// Creates the edge cases that pages must show: contradicting facts, unknown codes, refused requests.

import type { Invoice } from "../../src/domain/invoice.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import type { Transaction } from "../../src/domain/transaction.ts";
import { ingestTransactions } from "../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../src/ingest/ingest-invoices.ts";
import type { Database } from "../../src/postgres/database.ts";
import { uuidV7 } from "../../src/process/clock.ts";
import { logRequests } from "../../src/tables/request-log.ts";

const HOUR_MS = 3_600_000;

export async function fillEdgeCases(db: Database, merchant: Merchant, ports: Ports) {
  const now = ports.now().getTime();
  const ago = (hours: number) => new Date(now - hours * HOUR_MS);
  const invoice = (id: string, hours: number): Invoice => ({
    id,
    state: "UNPAID",
    customerId: `cus_${id}`,
    amount: 4900,
    currency: "EUR",
    createdAt: ago(hours),
    updatedAt: ago(hours),
  });
  const attempt = (invoiceId: string, hours: number, over: Partial<Transaction>): Transaction => ({
    id: `tx_${invoiceId}_${hours}`,
    state: "PAID",
    invoiceId,
    customerId: `cus_${invoiceId}`,
    amount: 4900,
    currency: "EUR",
    createdAt: ago(hours),
    updatedAt: ago(hours),
    paymentMethodType: "card",
    cardBrand: "visa",
    ...over,
  });
  const invoices = [
    invoice("odd_paid", 30),
    invoice("odd_dollars", 20),
    invoice("odd_too_much", 10),
    invoice("odd_code", 5),
  ];
  await ingestInvoices(db, merchant, [[...invoices]], ports, () => {});
  const attempts = [
    attempt("odd_paid", 28, {}),
    attempt("odd_dollars", 18, { currency: "USD" }),
    attempt("odd_too_much", 8, { amount: 490_000 }),
    attempt("odd_code", 4, { state: "FAILED", paymentGatewayName: "Acme", paymentGatewayErrorCode: "card_eaten" }),
  ];
  await ingestTransactions(db, merchant, [[...attempts]], ports, () => {});
  await ingestInvoices(db, merchant, [[{ ...invoice("odd_paid", 30), updatedAt: ago(1) }]], ports, () => {});
  const request = { merchantId: merchant.id, callerRequestId: null, keyId: null, method: "POST", durationUs: 2_400 };
  const counts = { status: 200, records: null, stored: null, older: null, error: null };
  const asked = [
    { ...counts, route: "/v1/invoices:batchUpsert", records: 200, stored: 180, older: 3 },
    {
      ...counts,
      route: "/v1/transactions:batchUpsert",
      status: 400,
      error: "transactions[4].amount must be an integer",
    },
    { ...counts, route: "/v1/recovery_actions", records: 100 },
  ];
  await logRequests(
    db,
    asked.map((each, n) => ({ ...request, ...each, id: uuidV7(ago(n), 0, Buffer.alloc(8)), at: ago(n) })),
  );
}
