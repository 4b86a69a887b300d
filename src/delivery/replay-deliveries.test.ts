import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { Merchant } from "../domain/merchant.ts";
import { endCases } from "../tables/cases.ts";
import { listAttemptsOfEvent } from "../tables/delivery-attempts.ts";
import { DELIVERY_STATES, findReplayable, listDeliveries, replayEvents } from "../tables/delivery-states.ts";
import { withdrawEvents } from "../tables/events.ts";
import { createManualClock, makeDeliverer, makeEvents, makeMerchant, START } from "./deliverer.fixture.ts";
import type { Reply } from "./https/exchange.ts";

let database: TestDatabase;
let merchant: Merchant;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());
beforeEach(async () => {
  merchant = await makeMerchant(database.db);
});

/** Runs queued deliveries through their schedule, with this status as reply. Returns the number of attempts. */
async function exhaustAttempts(status: number, from = START, rounds = 8) {
  const { ports, wait } = createManualClock();
  wait(from.getTime() - START.getTime());
  const reply: Reply = { outcome: "response", status, retryAfter: null, text: null };
  const deliverer = makeDeliverer({ db: database.db, ports, send: async () => reply });
  let attempts = 0;
  for (let i = 0; i < rounds; i++) {
    attempts += await deliverer.deliverDue();
    wait(3_600_000);
  }
  await deliverer.stop();
  return attempts;
}

const readStates = async () =>
  new Map((await listDeliveries(database.db, merchant.id, { limit: 100 })).map((row) => [row.eventId, row.state]));

test("the list derives the state of each event, and each filter finds its events", async () => {
  const [exhausted] = await makeEvents(database.db, merchant, 1, START, "complete_dunning");
  await exhaustAttempts(500);
  const [delivered] = await makeEvents(database.db, merchant, 1, START);
  await exhaustAttempts(204);
  const [withdrawn] = await makeEvents(database.db, merchant, 1, START);
  await withdrawEvents(database.db, merchant.id, [withdrawn!.caseId], [], START);
  const [waiting] = await makeEvents(database.db, merchant, 1, START, "pause_collection");
  await exhaustAttempts(503, START, 2);

  const expected = { exhausted, delivered, withdrawn, waiting };
  assert.deepEqual(await readStates(), new Map(Object.entries(expected).map(([state, event]) => [event!.id, state])));
  for (const state of DELIVERY_STATES) {
    const rows = await listDeliveries(database.db, merchant.id, { state, limit: 10 });
    assert.deepEqual(
      rows.map((row) => row.eventId),
      [expected[state]!.id],
      state,
    );
  }
  const [row] = await listDeliveries(database.db, merchant.id, { invoiceId: waiting!.invoiceId, limit: 10 });
  assert.deepEqual([row?.attempts, row?.round, row?.status, row?.dueAt !== null], [2, 1, 503, true]);
  const typed = await listDeliveries(database.db, merchant.id, { type: "complete_dunning", limit: 10 });
  assert.deepEqual(
    typed.map(({ attempts, dueAt, status }) => ({ attempts, dueAt, status })),
    [{ attempts: 7, dueAt: null, status: 500 }],
  );
});

test("the list includes events created exactly at either end of a range", async () => {
  await makeEvents(database.db, merchant, 1, START);
  const listed = async (from: number, to: number) => {
    const at = (ms: number) => new Date(START.getTime() + ms);
    const range = { createdFrom: at(from), createdTo: at(to) };
    return (await listDeliveries(database.db, merchant.id, { ...range, limit: 10 })).length;
  };
  assert.deepEqual([await listed(-1, 0), await listed(0, 1)], [1, 1]);
  assert.deepEqual([await listed(-1, -1), await listed(1, 1)], [0, 0]);
});

test("each replay is a new numbered round of the whole schedule", async () => {
  const [event] = await makeEvents(database.db, merchant, 1, START);
  await exhaustAttempts(500);
  for (const round of [2, 3]) {
    const later = new Date(START.getTime() + round * 86_400_000);
    assert.deepEqual(await findReplayable(database.db, merchant.id, {}, START), [{ eventId: event!.id, skip: null }]);
    assert.deepEqual(await replayEvents(database.db, merchant.id, [event!.id], later), [event!.id]);
    assert.deepEqual(await replayEvents(database.db, merchant.id, [event!.id], later), [], "only one round at a time");
    assert.equal((await readStates()).get(event!.id), "waiting");
    assert.equal(await exhaustAttempts(round === 3 ? 200 : 500, later), round === 3 ? 1 : 6);
  }
  const log = await listAttemptsOfEvent(database.db, merchant.id, event!.id);
  assert.deepEqual(
    log.map(({ round, number }) => `${round}.${number}`),
    [...[1, 2, 3, 4, 5, 6].map((number) => `1.${number}`), ...[1, 2, 3, 4, 5, 6].map((number) => `2.${number}`), "3.1"],
  );
  assert.equal((await readStates()).get(event!.id), "delivered");
  assert.deepEqual(
    await replayEvents(database.db, merchant.id, [event!.id], START),
    [],
    "a delivered event is not replayed",
  );
});

test("a replay skips events that are paid, delivered, withdrawn or waiting, and gives the reason", async () => {
  const [paid, open] = await makeEvents(database.db, merchant, 2, START);
  await exhaustAttempts(500);
  await endCases(
    database.db,
    merchant.id,
    [{ id: paid!.caseId, endReason: "paid", paidAt: START, amount: null, currency: null }],
    START,
    randomUUID(),
  );
  const [delivered] = await makeEvents(database.db, merchant, 1, START);
  await exhaustAttempts(200);
  const [withdrawn, waiting] = await makeEvents(database.db, merchant, 2, START);
  await withdrawEvents(database.db, merchant.id, [], [withdrawn!.id], START);
  const nobody = "01900000-0000-7000-8000-000000000000";
  const eventIds = [paid, open, delivered, withdrawn, waiting].map((event) => event!.id);
  const judged = await findReplayable(database.db, merchant.id, { eventIds: [...eventIds, nobody] }, START);
  const skips = new Map(judged.map(({ eventId, skip }) => [eventId, skip]));
  assert.deepEqual(
    [...eventIds, nobody].map((id) => skips.get(id)),
    [
      "the invoice was paid meanwhile",
      null,
      "it was delivered",
      "it was withdrawn",
      "it is still being sent",
      "there is no such event",
    ],
  );
  const filtered = await findReplayable(
    database.db,
    merchant.id,
    {
      type: "recovery_action",
      createdFrom: START,
      createdTo: START,
    },
    START,
  );
  assert.deepEqual(new Set(filtered.map(({ eventId }) => eventId)), new Set([paid!.id, open!.id]));
  assert.deepEqual(
    await findReplayable(database.db, merchant.id, { createdTo: new Date(START.getTime() - 1) }, START),
    [],
  );
  assert.deepEqual(await findReplayable(database.db, merchant.id, { type: "pause_collection" }, START), []);
});
