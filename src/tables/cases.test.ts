import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase, waitForLockWait } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { makeEvents } from "../delivery/deliverer.fixture.ts";
import type { Invoice } from "../domain/invoice.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { prepared } from "../postgres/database.ts";
import { endOfInvoiceState } from "../recovery/ends.ts";
import {
  casesOfInvoice,
  endCases,
  endCasesLeavingRecovery,
  findCases,
  lockCases,
  openCases,
  saveCaseStates,
} from "./cases.ts";
import { upsertInvoices } from "./invoices.ts";
import { enqueueCasesOfInvoices, readQueue } from "./reevaluation-queue.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ports = testPorts(testClock());
/** Statistics as after an ANALYZE during the first writes: pages, but no rows. */
const SET_STALE_STATISTICS = prepared(
  "test_blind",
  "update pg_class set relpages = 5, reltuples = 0 where oid = 'cases'::regclass",
);
const ENDED = prepared(
  "test_ended",
  "select count(*)::int4 as n from cases where merchant_id = $1 and ended_at is not null",
);

test("cases are ended by one lookup each when statistics are missing", { timeout: 30_000 }, async () => {
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
  await database.db.run(SET_STALE_STATISTICS);
  const batches = [0, 200, 400, 600, 800].map((from) => unpaid.slice(from, from + 200));
  for (const batch of batches) await ingestInvoices(database.db, merchant, [[...batch]], ports, () => {});
  const updatedAt = new Date(ports.now().getTime() + 1_000);
  for (const batch of batches) {
    const paid = batch.map((invoice): Invoice => ({ ...invoice, state: "PAID", updatedAt }));
    await ingestInvoices(database.db, merchant, [[...paid]], ports, () => {});
  }
  assert.equal((await database.db.run<{ n: number }>(ENDED, [merchant.id])).rows[0]!.n, 1_000);
});

test("cases of invoices that left recovery end by the stored version, unless they ended before", async () => {
  const merchant = await testMerchant(database.db, ports);
  const day = (n: number) => new Date(Date.UTC(2026, 0, n));
  const states = ["PAID", "VOIDED", "UNCOLLECTIBLE", "REFUNDED", "DRAFT", "PAID"] as const;
  const invoices = states.map((state, n): Invoice & { id: string } => ({
    ...{ id: `in_${n}`, state, customerId: "cus_1", amount: 2_000, currency: "USD" },
    ...{ createdAt: day(1), updatedAt: day(2) },
  }));
  const cases = invoices.map(({ id }) => ({
    ...{ id: ports.newId(), invoiceId: id, customerId: "cus_1", subscriptionId: null, amount: 1_000, currency: "EUR" },
    ...{ unpaidAt: day(1), windowEndsAt: day(30), budget: 8, arm: "dunlin" as const, openedAt: day(4) },
  }));
  const unpaid = invoices.map((invoice) => ({ ...invoice, state: "UNPAID" as const, updatedAt: day(1) }));
  await upsertInvoices(database.db, merchant.id, [...unpaid], day(1), null);
  await openCases(database.db, merchant.id, cases, ports.newId());
  await saveCaseStates(database.db, merchant.id, [
    { id: cases[5]!.id, endedAt: day(5), endReason: "hopeless", paidAt: null, recovered: false },
  ]);
  const pokeId = ports.newId();
  const ended = await database.db.transaction(async (tx) => {
    const { leftRecovery } = await upsertInvoices(tx, merchant.id, [...invoices], day(2), null);
    return await endCasesLeavingRecovery(tx, merchant.id, day(3), pokeId, leftRecovery);
  });
  const ids = cases.map(({ id }) => id);
  assert.deepEqual(ended.sort(), ids.toSorted());
  const [poke] = await readQueue(database.db, merchant.id, 10, 100);
  assert.deepEqual(poke, { id: pokeId, part: 0, caseIds: ids.toSorted() });
  const found = new Map(
    (await findCases(database.db, merchant.id, ids)).map((recoveryCase) => [recoveryCase.id, recoveryCase]),
  );
  for (const [n, state] of states.entries()) {
    const { endReason, paidAt, endedAt, amount, currency } = found.get(ids[n]!)!;
    const said = endOfInvoiceState(invoices[n]!);
    // Opened after this waiting transaction had started; no case ends before it was opened.
    if (n < 5) assert.deepEqual({ endReason, paidAt, endedAt, amount, currency }, { ...said, endedAt: day(4) }, state);
    else assert.deepEqual([endReason, amount, currency], ["hopeless", 1_000, "EUR"]);
  }
});

test("a case keeps the end of a concurrent step, and its invoice counts as out of recovery", async () => {
  const merchant = await testMerchant(database.db, ports);
  const [event] = await makeEvents(database.db, merchant, 1, ports.now());
  const id = event!.caseId;
  const paidAt = ports.now();
  const said = [{ id, endReason: "paid", paidAt, amount: 5, currency: "USD" }] as const;
  let ending!: Promise<void>;
  await database.db.transaction(async (tx) => {
    await lockCases(tx, merchant.id, [id]);
    ending = endCases(database.db, merchant.id, said, ports.now(), ports.newId());
    await waitForLockWait(database.db);
    await saveCaseStates(tx, merchant.id, [
      { id, endedAt: paidAt, endReason: "hopeless", paidAt: null, recovered: false },
    ]);
  });
  await ending;
  const [recoveryCase] = await findCases(database.db, merchant.id, [id]);
  assert.deepEqual([recoveryCase!.endReason, recoveryCase!.paidAt, recoveryCase!.currency], ["hopeless", null, "EUR"]);
  const { rows } = await database.db.run(READ_INVOICE_LEFT, [merchant.id, id]);
  assert.deepEqual(rows, [{ left: true }]);
});

const READ_INVOICE_LEFT = prepared(
  "test_left",
  `select invoice_left as "left" from cases where merchant_id = $1 and id = $2`,
);

test("cases queued together are read oldest first, in whatever order they are found", async () => {
  const merchant = await testMerchant(database.db, ports);
  const events = await makeEvents(database.db, merchant, 20, ports.now());
  const invoiceIds = events.map(({ invoiceId }) => invoiceId);
  await enqueueCasesOfInvoices(database.db, merchant.id, invoiceIds, ports.newId());
  const [poke] = await readQueue(database.db, merchant.id, 10, 100);
  // Ids of cases are time-ordered in the service, but random here.
  assert.deepEqual(poke!.caseIds, events.map(({ caseId }) => caseId).sort());
});

test("only as many queue entries are read as needed, so that a long queue is not read again for each step", async () => {
  const merchant = await testMerchant(database.db, ports);
  const events = await makeEvents(database.db, merchant, 12, ports.now());
  for (let from = 0; from < 12; from += 4) {
    const invoiceIds = events.slice(from, from + 4).map(({ invoiceId }) => invoiceId);
    await enqueueCasesOfInvoices(database.db, merchant.id, invoiceIds, ports.newId());
  }
  const read = async (pokes: number, cases: number) =>
    (await readQueue(database.db, merchant.id, pokes, cases)).map(({ caseIds }) => caseIds.length);
  assert.deepEqual(await read(10, 4), [4]);
  assert.deepEqual(await read(10, 5), [4, 4]);
  assert.deepEqual(await read(10, 100), [4, 4, 4]);
  assert.deepEqual(await read(2, 100), [4, 4]);
});

test("an invoice gets no new case when a step ends its case while another version is stored", async () => {
  const merchant = await testMerchant(database.db, ports);
  const at = ports.now();
  const copy: Invoice & { id: string } = {
    ...{ id: "in_1", state: "UNPAID", customerId: "cus_1", amount: 4_900, currency: "EUR" },
    ...{ createdAt: at, updatedAt: at },
  };
  const push = (updatedAt: Date) => ingestInvoices(database.db, merchant, [[{ ...copy, updatedAt }]], ports, () => {});
  await push(at);
  const [recoveryCase] = await casesOfInvoice(database.db, merchant.id, "in_1");
  let pushed!: Promise<unknown>;
  await database.db.transaction(async (tx) => {
    const ended = { id: recoveryCase!.id, endedAt: at, endReason: "hopeless", paidAt: null, recovered: false } as const;
    await lockCases(tx, merchant.id, [recoveryCase!.id]);
    await saveCaseStates(tx, merchant.id, [ended]);
    pushed = push(new Date(at.getTime() + 1_000));
    await waitForLockWait(database.db);
  });
  await pushed;
  const ends = (await casesOfInvoice(database.db, merchant.id, "in_1")).map(({ endReason }) => endReason);
  assert.deepEqual(ends, ["hopeless"]);
});
