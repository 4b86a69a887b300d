import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { prepared } from "../postgres/database.ts";
import { rescheduleAfterClockReset } from "../tables/reschedule-after-clock-reset.ts";
import { HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

// A clock that was briefly ahead and was set back. The repair covers all merchants, so each test has its own database.
let stage: Awaited<ReturnType<typeof openStage>>;
let merchantId: string;
afterEach(() => stage.drop());
beforeEach(async () => {
  stage = await openStage();
  merchantId = (await stage.enter()).id;
});

const SELECT_DELIVERIES = prepared(
  "test_due_deliveries",
  `select e.invoice_id as invoice, d.due_at as due, e.created_at as made from deliveries d
   join events e on e.merchant_id = d.merchant_id and e.id = d.event_id
   where d.merchant_id = $1 order by e.invoice_id`,
);
const listDeliveries = async () =>
  (await stage.db.run<{ invoice: string; due: Date; made: Date }>(SELECT_DELIVERIES, [merchantId])).rows;
const SELECT_QUEUED = prepared("test_poked", "select unnest(case_ids) as id from case_pokes where merchant_id = $1");
const listQueuedCases = async () =>
  (await stage.db.run<{ id: string }>(SELECT_QUEUED, [merchantId])).rows.map(({ id }) => id);
const SELECT_LISTED = prepared(
  "test_listed_moments",
  "select updated_at as at from recovery_actions where merchant_id = $1 order by created_at, id",
);
const listRows = async () => (await stage.db.run<{ at: Date }>(SELECT_LISTED, [merchantId])).rows;

async function pushUnpaidInvoice(id: string) {
  await stage.invoice({ id, customerId: `of ${id}` });
  await stage.transaction({ invoiceId: id, customerId: `of ${id}`, cardFingerprint: `card of ${id}` });
  await stage.decide();
}

test("an event queued after the clock was set back is due at once, and lists keep their order", async () => {
  stage.at(START.getTime() + HOUR);
  await pushUnpaidInvoice("inv_1");
  stage.at(START.getTime() + MINUTE);
  await pushUnpaidInvoice("inv_2");
  const [first, second] = await listDeliveries();
  assert.ok(first!.due.getTime() >= START.getTime() + HOUR);
  for (const at of [second!.due, second!.made])
    assert.ok(Math.abs(at.getTime() - START.getTime() - MINUTE) < 1_000, `${at.toISOString()}`);
  const times = (await listRows()).map(({ at }) => at.getTime());
  assert.equal(new Set(times).size, times.length);
  assert.ok(times.at(-1)! > START.getTime() + HOUR, "the second plan is listed behind the first one");
});

test("deliveries scheduled before the clock was set back are brought forward, and cases of that time are queued again", async () => {
  await pushUnpaidInvoice("inv_0");
  await stage.deliver();
  await stage.decide();
  const [idle] = await stage.caseIds();
  stage.at(START.getTime() + HOUR);
  await pushUnpaidInvoice("inv_1");
  stage.at(START.getTime() + MINUTE);
  const now = stage.now();
  const rescheduledCount = await rescheduleAfterClockReset(stage.db, now, stage.ports.newId());
  assert.deepEqual(rescheduledCount, { deliveries: 1, cases: 1 });
  assert.deepEqual(
    (await listDeliveries()).map(({ due }) => due),
    [now],
  );
  const ids = await listQueuedCases();
  assert.equal(ids.length, 1);
  assert.ok(!ids.includes(idle!));
  await stage.decide();
  assert.deepEqual(await listQueuedCases(), []);
});

test("a delivery retry keeps its distance from the previous attempt", async () => {
  stage.at(START.getTime() + HOUR);
  await pushUnpaidInvoice("inv_1");
  await stage.send(() => Promise.resolve({ outcome: "response", status: 500, retryAfter: null, text: null }));
  stage.wait(100);
  await stage.send(() => Promise.resolve({ outcome: "response", status: 500, retryAfter: null, text: null }));
  stage.at(START.getTime() + MINUTE);
  assert.equal((await rescheduleAfterClockReset(stage.db, stage.now(), stage.ports.newId())).deliveries, 1);
  const [{ due } = assert.fail()] = await listDeliveries();
  assert.equal(due.getTime() - stage.now().getTime(), 5_000);
});

test("nothing changes when the clock was never ahead", async () => {
  await pushUnpaidInvoice("inv_1");
  await stage.send(() => Promise.resolve({ outcome: "response", status: 500, retryAfter: "3600", text: null }));
  const before = await listDeliveries();
  stage.wait(10);
  assert.deepEqual(await rescheduleAfterClockReset(stage.db, stage.now(), stage.ports.newId()), {
    deliveries: 0,
    cases: 0,
  });
  assert.deepEqual(await listDeliveries(), before);
});
