import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { type Database, prepared, type Statement } from "../postgres/database.ts";
import { listAttemptsOfEvent } from "../tables/delivery-attempts.ts";
import { createManualClock, makeDeliverer, makeEvents, makeMerchant, START } from "./deliverer.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const GRACE_MS = 31_000;
const HELD = prepared("test_held", "select count(*)::int4 as n from bucket_leases where owner is not null");
const leasesHeld = async () => (await database.db.run<{ n: number }>(HELD)).rows[0]!.n;

/** An ended attempt whose recording hangs until `answer` is called. */
async function startHangingRecord() {
  const { promise: isAnswered, resolve: answer } = Promise.withResolvers<void>();
  const { promise: isWriting, resolve: writes } = Promise.withResolvers<void>();
  const db: Database = {
    ...database.db,
    async run<Row>(statement: Statement, values?: readonly unknown[]) {
      if (/^record_(ends|attempts)$/.test(statement.name)) {
        writes();
        await isAnswered;
      }
      return await database.db.run<Row>(statement, values);
    },
  };
  const clock = createManualClock();
  const merchant = await makeMerchant(database.db);
  const [event] = await makeEvents(database.db, merchant, 1, START);
  const send = async () => ({ outcome: "response", status: 200, retryAfter: null, text: null }) as const;
  const deliverer = makeDeliverer({ db, ports: clock.ports, send });
  const delivering = deliverer.deliverDue();
  await isWriting;
  const numbers = async () =>
    (await listAttemptsOfEvent(database.db, merchant.id, event!.id)).map(({ number, ends }) => `${number} ${ends}`);
  return { ...clock, deliverer, answer, numbers, delivering };
}

/** Whether the promise has settled after a few polling intervals. */
async function isSettled(promise: Promise<unknown>) {
  return await Promise.race([promise.then(() => true), sleep(100).then(() => false)]);
}

test("stop releases the leases only after the ended attempts are recorded", async () => {
  const { deliverer, answer, numbers, delivering } = await startHangingRecord();
  const stopping = deliverer.stop();
  assert.equal(await isSettled(stopping), false);
  assert.ok((await leasesHeld()) > 0);
  answer();
  await Promise.all([stopping, delivering]);
  assert.deepEqual(await numbers(), ["1 delivered"]);
  assert.equal(await leasesHeld(), 0);
});

test("stop releases the leases after its grace period while a recording still hangs", async () => {
  const { deliverer, answer, wait, delivering } = await startHangingRecord();
  const stopping = deliverer.stop(GRACE_MS);
  wait(GRACE_MS - 1);
  assert.equal(await isSettled(stopping), false);
  wait(1);
  await stopping;
  assert.equal(await leasesHeld(), 0);
  answer();
  await delivering;
});
