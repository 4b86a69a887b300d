import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase, waitForLockWait } from "../../test/database.ts";
import { createPorts, createShop } from "../../test/wall/merchant-life.ts";
import type { Invoice } from "../domain/invoice.ts";
import { findInvoices, insertNewInvoices, isDuplicateInsert, upsertInvoices } from "./invoices.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const NOW = new Date("2026-01-09T00:00:00Z");
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

async function createOwner() {
  const ports = createPorts("ea");
  return (await createShop(database.db, { ...ports, newId: randomUUID })).id;
}

test("new invoices are inserted together, or not at all when the merchant has one of them", async () => {
  const [merchant, other] = [await createOwner(), await createOwner()];
  assert.equal(await insertNewInvoices(database.db, merchant, [invoice("b")], randomUUID()), true);
  assert.equal(
    await insertNewInvoices(database.db, merchant, [invoice("a"), invoice("b", "VOIDED", 2)], randomUUID()),
    false,
  );
  assert.deepEqual(await stored(merchant), ["b"]);
  assert.equal((await findInvoices(database.db, merchant, ["b"])).get("b")!.state, "PAID");
  assert.equal(await insertNewInvoices(database.db, other, [invoice("a"), invoice("b")], randomUUID()), true);
});

test("a batch is not inserted as new when another one stores the same invoice first", async () => {
  const merchant = await createOwner();
  let late!: Promise<unknown>;
  await database.db.transaction(async (tx) => {
    await upsertInvoices(tx, merchant, [invoice("b")], NOW, randomUUID());
    late = insertNewInvoices(database.db, merchant, [invoice("a"), invoice("b"), invoice("c")], randomUUID()).catch(
      isDuplicateInsert,
    );
    await waitForLockWait(database.db);
  });
  assert.equal(await late, true);
  assert.deepEqual(await stored(merchant), ["b"]);
});

test("an upsert returns which invoices are in recovery, new or again, and which were unchanged", async () => {
  const merchant = await createOwner();
  const upsert = (...invoices: Invoice[]) => upsertInvoices(database.db, merchant, [...invoices], NOW, randomUUID());
  const nothing = { unpaid: [], unpaidAgain: [], leftRecovery: [], unchanged: null };
  assert.deepEqual(await upsert(invoice("a"), invoice("b", "UNPAID")), { ...nothing, unpaid: ["b"] });
  assert.deepEqual(await upsert(invoice("a"), invoice("b", "UNPAID", 2), invoice("c", "PARTIALLY_PAID")), {
    ...nothing,
    unpaid: ["c"],
    unpaidAgain: ["b"],
    unchanged: ["a"],
  });
  assert.deepEqual(await upsert(invoice("c", "PARTIALLY_PAID")), { ...nothing, unchanged: ["c"] });
});

test("an upsert returns invoices that left recovery, but not new ones or those that were never in recovery", async () => {
  const merchant = await createOwner();
  const settledBy = (...invoices: Invoice[]) =>
    upsertInvoices(database.db, merchant, [...invoices], NOW, randomUUID()).then(({ leftRecovery }) => leftRecovery);
  await settledBy(invoice("a", "UNPAID"), invoice("b", "PAID"), invoice("c", "PARTIALLY_PAID"), invoice("d", "UNPAID"));
  const second = await settledBy(
    ...[invoice("a", "UNCOLLECTIBLE", 2), invoice("b", "REFUNDED", 2), invoice("c", "VOIDED", 2)],
    ...[invoice("d", "PARTIALLY_PAID", 2), invoice("e", "DRAFT", 2)],
  );
  assert.deepEqual(second, ["a", "c"]);
  const third = await settledBy(
    ...[invoice("a", "PAID", 3), invoice("b", "UNPAID", 3), invoice("d", "PAID", 3), invoice("e", "PAID", 3)],
  );
  assert.deepEqual(third, ["a", "d"]);
  assert.deepEqual(await settledBy(invoice("b", "PAID", 4), invoice("e", "REFUNDED", 4)), ["b"]);
  assert.deepEqual(await settledBy(invoice("e", "PAID", 5)), []);
  assert.deepEqual(await settledBy(invoice("b", "REFUNDED", 5)), ["b"]);
});
