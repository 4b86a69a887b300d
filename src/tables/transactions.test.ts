import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { prepared } from "../postgres/database.ts";
import { transactionsForCases, transactionsOnCards } from "./transactions.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const MERCHANT = "01900000-0000-7000-8000-000000000001";
const NOW = new Date("2026-03-02T10:00:00Z");
const HALF_A_YEAR_AGO = new Date(NOW.getTime() - 180 * 86_400_000);

/** Declines of one customer, invoice and card, one per minute, the latest now. */
const FILL = prepared(
  "fill_attempts",
  `insert into transactions (merchant_id, id, state, invoice_id, customer_id, amount, currency, created_at, updated_at, card_fingerprint, payment_method_id)
   select $1, $2 || n, 'FAILED', $3, $4, 4900, 'EUR', $5::timestamptz - n * interval '1 minute', $5, $6, $7 from generate_series(0, $8::int4 - 1) n`,
);
interface Filled {
  ids: string;
  invoiceId: string;
  customerId?: string;
  card?: string;
  method?: string;
  until?: Date;
  count: number;
}
const fill = ({ ids, invoiceId, customerId, card, method, until = NOW, count }: Filled) =>
  db.run(FILL, [MERCHANT, ids, invoiceId, customerId, until, card, method, count]);

const isOldestFirst = (rows: readonly { createdAt: Date }[]) =>
  rows.every(({ createdAt }, n) => n === 0 || rows[n - 1]!.createdAt <= createdAt);

test("the latest attempts of a customer with very many are read, and all attempts on the invoice", async () => {
  const old = new Date("2025-12-01T10:00:00Z");
  await fill({ ids: "mine", invoiceId: "inv_guest", customerId: "guest", until: old, count: 2_500 });
  await fill({ ids: "more", invoiceId: "inv_others", customerId: "guest", count: 5_000 });
  await fill({ ids: "ada", invoiceId: "inv_ada", customerId: "ada", until: old, count: 3 });
  const customers = ["guest", "ada"];
  const read = await transactionsForCases(db, MERCHANT, ["inv_guest"], customers, HALF_A_YEAR_AGO);
  const of = (id: string) => read.filter(({ invoiceId }) => invoiceId === id);
  assert.equal(of("inv_guest").length, 2_500);
  assert.equal(of("inv_others").length, 2_000);
  assert.equal(of("inv_ada").length, 3);
  assert.deepEqual(of("inv_others").at(-1)!.createdAt, NOW);
  assert.deepEqual(of("inv_others")[0]!.createdAt, new Date(NOW.getTime() - 1_999 * 60_000));
  assert.ok(isOldestFirst(read));
});

test("the latest attempts of each card and payment method with very many are read, each once", async () => {
  await fill({ ids: "busy", invoiceId: "inv_a", customerId: "a", card: "fp_busy", method: "pm_busy", count: 5_000 });
  await fill({ ids: "same", invoiceId: "inv_b", customerId: "b", method: "pm_busy", count: 5_000 });
  await fill({ ids: "calm", invoiceId: "inv_c", customerId: "c", card: "fp_calm", count: 3 });
  const [known] = await transactionsForCases(db, MERCHANT, ["inv_c"], [], HALF_A_YEAR_AGO);
  const cards = ["fp_busy", "fp_calm"];
  const read = await transactionsOnCards(db, MERCHANT, cards, ["pm_busy"], HALF_A_YEAR_AGO, [known!]);
  const of = (id: string) => read.filter(({ invoiceId }) => invoiceId === id);
  assert.equal(new Set(read.map(({ id }) => id)).size, read.length);
  assert.deepEqual([of("inv_a").length, of("inv_b").length, of("inv_c").length], [2_000, 2_000, 2]);
  assert.deepEqual([of("inv_a").at(-1)!.createdAt, of("inv_b").at(-1)!.createdAt], [NOW, NOW]);
  assert.ok(isOldestFirst(read));
});
