import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { someoneWaits, type TestDatabase, testDatabase } from "../../test/database.ts";
import { INVOICE_STATES, type Invoice, inRecovery } from "../domain/invoice.ts";
import { prepared } from "./database.ts";
import {
  findInvoices,
  insertNewInvoices,
  isOvertaken,
  LEFT_SETTING,
  placesInRecovery,
  upsertInvoices,
} from "./invoices.ts";
import { arrangeInvoices } from "./packed.fixture.ts";
import { idsOf } from "./packed.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
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

test("invoices are stored as new ones all together, or not at all when the merchant has one of them already", async () => {
  const [merchant, other] = [randomUUID(), randomUUID()];
  assert.equal(await insertNewInvoices(database.db, merchant, arrangeInvoices(invoice("b")), randomUUID()), true);
  assert.equal(
    await insertNewInvoices(
      database.db,
      merchant,
      arrangeInvoices(invoice("a"), invoice("b", "VOIDED", 2)),
      randomUUID(),
    ),
    false,
  );
  assert.deepEqual(await stored(merchant), ["b"]);
  assert.equal((await findInvoices(database.db, merchant, ["b"])).get("b")!.state, "PAID");
  assert.equal(
    await insertNewInvoices(database.db, other, arrangeInvoices(invoice("a"), invoice("b")), randomUUID()),
    true,
  );
});

test("what left recovery is noted until the transaction ends, and no longer", async () => {
  const merchant = randomUUID();
  const noted = prepared("test_noted", `select nullif(current_setting('${LEFT_SETTING}', true), '') as left`);
  await database.db.transaction(async (tx) => {
    await upsertInvoices(tx, merchant, arrangeInvoices(invoice("a", "UNPAID")), NOW, randomUUID());
    await upsertInvoices(tx, merchant, arrangeInvoices(invoice("a", "PAID", 2)), NOW, randomUUID());
    assert.deepEqual((await tx.run(noted)).rows, [{ left: '["a"]' }]);
  });
  // Every connection of the pool.
  const seen = await Promise.all(Array.from({ length: 8 }, () => database.db.run(noted)));
  assert.ok(seen.every(({ rows }) => (rows[0] as { left: unknown }).left === null));
});

test("a batch that another one overtakes is not stored as new", async () => {
  const merchant = randomUUID();
  let late!: Promise<unknown>;
  await database.db.transaction(async (tx) => {
    await upsertInvoices(tx, merchant, arrangeInvoices(invoice("b")), NOW, randomUUID());
    late = insertNewInvoices(
      database.db,
      merchant,
      arrangeInvoices(invoice("a"), invoice("b"), invoice("c")),
      randomUUID(),
    ).catch(isOvertaken);
    await someoneWaits(database.db);
  });
  assert.equal(await late, true);
  assert.deepEqual(await stored(merchant), ["b"]);
});

test("an upsert says what is in recovery, new or again, and what was known in this copy or a newer one", async () => {
  const merchant = randomUUID();
  const upsert = (...invoices: Invoice[]) =>
    upsertInvoices(database.db, merchant, arrangeInvoices(...invoices), NOW, randomUUID());
  const nothing = { unpaid: [], unpaidAgain: [], known: null };
  assert.deepEqual(await upsert(invoice("a"), invoice("b", "UNPAID")), { ...nothing, unpaid: ["b"] });
  assert.deepEqual(await upsert(invoice("a"), invoice("b", "UNPAID", 2), invoice("c", "PARTIALLY_PAID")), {
    ...nothing,
    unpaid: ["c"],
    unpaidAgain: ["b"],
    known: ["a"],
  });
  assert.deepEqual(await upsert(invoice("c", "PARTIALLY_PAID")), { ...nothing, known: ["c"] });
});

test("an upsert notes what is out of recovery now and was in it in some older copy, and neither what never was nor what is new", async () => {
  const merchant = randomUUID();
  const leftBy = (...invoices: Invoice[]) =>
    database.db.transaction(async (tx) => {
      await upsertInvoices(tx, merchant, arrangeInvoices(...invoices), NOW, randomUUID());
      return JSON.parse((await tx.run<{ left: string }>(READ_LEFT)).rows[0]!.left);
    });
  await leftBy(invoice("a", "UNPAID"), invoice("b", "PAID"), invoice("c", "PARTIALLY_PAID"), invoice("d", "UNPAID"));
  const second = await leftBy(
    ...[invoice("a", "UNCOLLECTIBLE", 2), invoice("b", "REFUNDED", 2), invoice("c", "VOIDED", 2)],
    ...[invoice("d", "PARTIALLY_PAID", 2), invoice("e", "DRAFT", 2)],
  );
  assert.deepEqual(second, ["a", "c"]);
  const third = await leftBy(
    ...[invoice("a", "PAID", 3), invoice("b", "UNPAID", 3), invoice("d", "PAID", 3), invoice("e", "PAID", 3)],
  );
  assert.deepEqual(third, ["a", "d"]);
  assert.deepEqual(await leftBy(invoice("b", "PAID", 4), invoice("e", "REFUNDED", 4)), ["b"]);
  assert.deepEqual(await leftBy(invoice("e", "PAID", 5)), []);
  assert.deepEqual(await leftBy(invoice("b", "REFUNDED", 5)), ["b"]);
});

const READ_LEFT = prepared("read_left", `select current_setting('${LEFT_SETTING}') as "left"`);

test("those in recovery are found by their states alone", () => {
  const named = { ...invoice("UNPAID"), customerId: "PARTIALLY_PAID" };
  const all = INVOICE_STATES.map((state, n) => invoice(`in_${n}`, state));
  const invoices = arrangeInvoices(named, ...all);
  assert.deepEqual(
    placesInRecovery(invoices).map((place) => idsOf(invoices)[place]),
    all.filter(({ state }) => inRecovery(state)).map(({ id }) => id),
  );
});
