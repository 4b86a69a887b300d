import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { someoneWaits, type TestDatabase, testDatabase } from "../../test/database.ts";
import type { Invoice } from "../domain/invoice.ts";
import { findInvoices, insertNewInvoices, isOvertaken, upsertInvoices } from "./invoices.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.drop());

const invoice = (id: string, state: Invoice["state"] = "PAID", day = 1): Invoice => ({
  id,
  state,
  customerId: "cus_1",
  amount: 1999,
  currency: "EUR",
  createdAt: new Date("2026-01-01T00:00:00Z"),
  updatedAt: new Date(`2026-01-0${day}T00:00:00Z`),
});
const stored = async (merchantId: string) =>
  [...(await findInvoices(database.db, merchantId, ["a", "b", "c"])).keys()].sort();

test("invoices are stored as new ones all together, or not at all when the merchant has one of them already", async () => {
  const [merchant, other] = [randomUUID(), randomUUID()];
  assert.equal(await insertNewInvoices(database.db, merchant, [invoice("b")]), true);
  assert.equal(await insertNewInvoices(database.db, merchant, [invoice("a"), invoice("b", "VOIDED", 2)]), false);
  assert.deepEqual(await stored(merchant), ["b"]);
  assert.equal((await findInvoices(database.db, merchant, ["b"])).get("b")!.state, "PAID");
  assert.equal(await insertNewInvoices(database.db, other, [invoice("a"), invoice("b")]), true);
});

test("a batch that another one overtakes is not stored as new", async () => {
  const merchant = randomUUID();
  let late!: Promise<unknown>;
  await database.db.transaction(async (tx) => {
    await upsertInvoices(tx, merchant, [invoice("b")]);
    late = insertNewInvoices(database.db, merchant, [invoice("a"), invoice("b"), invoice("c")]).catch(isOvertaken);
    await someoneWaits(database.db);
  });
  assert.equal(await late, true);
  assert.deepEqual(await stored(merchant), ["b"]);
});

test("an upsert says which were known in an older copy, and which of the new ones are in recovery", async () => {
  const merchant = randomUUID();
  const upsert = (...invoices: Invoice[]) => upsertInvoices(database.db, merchant, invoices);
  assert.deepEqual(await upsert(invoice("a"), invoice("b", "UNPAID")), { newer: [], unpaid: ["b"], known: null });
  assert.deepEqual(await upsert(invoice("a"), invoice("b", "PAID", 2), invoice("c", "PARTIALLY_PAID")), {
    newer: ["b"],
    unpaid: ["c"],
    known: ["a"],
  });
  assert.deepEqual(await upsert(invoice("c", "PARTIALLY_PAID")), { newer: [], unpaid: [], known: ["c"] });
});
