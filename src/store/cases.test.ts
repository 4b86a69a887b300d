import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { makeEvents } from "../delivery/deliverer.fixture.ts";
import type { Invoice } from "../domain/invoice.ts";
import { ingestInvoices } from "../recovery/ingest.ts";
import { firstPokes } from "./case-pokes.ts";
import { pokeCasesOfInvoices } from "./cases.ts";
import { prepared } from "./database.ts";
import { packInvoices } from "./packed.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.drop());

const ports = testPorts(testClock());
/** As an ANALYZE leaves it that runs while the first cases are written: pages, and no rows yet. */
const BLIND = prepared("test_blind", "update pg_class set relpages = 5, reltuples = 0 where oid = 'cases'::regclass");
const ENDED = prepared(
  "test_ended",
  "select count(*)::int4 as n from cases where merchant_id = $1 and ended_at is not null",
);

test("cases are ended one look-up each also where statistics know nothing of them", { timeout: 30_000 }, async () => {
  const merchant = await testMerchant(database.db, ports);
  const unpaid = Array.from({ length: 1_000 }, (_, n): Invoice => {
    const at = ports.now();
    const id = `in_${String(n).padStart(4, "0")}`;
    return {
      id,
      state: "UNPAID",
      customerId: `cus_${n}`,
      amount: 4_900,
      currency: "EUR",
      createdAt: at,
      updatedAt: at,
    };
  });
  await database.db.run(BLIND);
  const batches = [0, 200, 400, 600, 800].map((from) => unpaid.slice(from, from + 200));
  for (const batch of batches) await ingestInvoices(database.db, merchant, packInvoices(...batch), ports);
  const updatedAt = new Date(ports.now().getTime() + 1_000);
  for (const batch of batches) {
    const paid = batch.map((invoice): Invoice => ({ ...invoice, state: "PAID", updatedAt }));
    await ingestInvoices(database.db, merchant, packInvoices(...paid), ports);
  }
  assert.equal((await database.db.run<{ n: number }>(ENDED, [merchant.id])).rows[0]!.n, 1_000);
});

test("cases that are poked together are looked at oldest first, in whatever order they are found", async () => {
  const merchant = await testMerchant(database.db, ports);
  const events = await makeEvents(database.db, merchant, 20, ports.now());
  const invoiceIds = events.map(({ invoiceId }) => invoiceId);
  await pokeCasesOfInvoices(database.db, merchant.id, invoiceIds, ports.newId());
  const [poke] = await firstPokes(database.db, merchant.id, 10, 100);
  // Ids of cases rise with time; here they are drawn.
  assert.deepEqual(poke!.caseIds, events.map(({ caseId }) => caseId).sort());
});

test("no more pokes are read than hold the cases that are wanted, so that a flood of them is not read again for each step", async () => {
  const merchant = await testMerchant(database.db, ports);
  const events = await makeEvents(database.db, merchant, 12, ports.now());
  for (let from = 0; from < 12; from += 4) {
    const invoiceIds = events.slice(from, from + 4).map(({ invoiceId }) => invoiceId);
    await pokeCasesOfInvoices(database.db, merchant.id, invoiceIds, ports.newId());
  }
  const read = async (pokes: number, cases: number) =>
    (await firstPokes(database.db, merchant.id, pokes, cases)).map(({ caseIds }) => caseIds.length);
  assert.deepEqual(await read(10, 4), [4]);
  assert.deepEqual(await read(10, 5), [4, 4]);
  assert.deepEqual(await read(10, 100), [4, 4, 4]);
  assert.deepEqual(await read(2, 100), [4, 4]);
});
