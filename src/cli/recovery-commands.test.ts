import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import type { StopResult } from "../merchants/recovery-requests.ts";
import { listDeliveries } from "../tables/delivery-states.ts";
import type { OptionValues } from "./command.ts";
import { runAndCapture } from "./context.fixture.ts";
import { recoveryPostpone, recoveryRetryNow, recoveryStop } from "./recovery-commands.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const run = (invoiceId: string, values: OptionValues = {}) =>
  runAndCapture(database.db, recoveryStop, values, [invoiceId]);

test("`recovery stop` ends a case once, and notifies other processes of withdrawn and new events", async () => {
  const { db } = database;
  const now = realPorts.now();
  const invoice = { customerId: "cus_1", amount: 100, currency: "EUR", createdAt: now, updatedAt: now };
  const push = (merchant: typeof first, ...ids: string[]) =>
    ingestInvoices(
      db,
      merchant,
      [[...ids.map((id) => ({ ...invoice, id, state: "UNPAID" as const }))]],
      realPorts,
      () => {},
    );
  const [first, second] = [await makeMerchant(db), await makeMerchant(db)];
  await push(first, "inv_1", "inv_both");
  await push(second, "inv_both");
  const heard: string[] = [];
  const listener = await db.connect();
  listener.onNotified((channel, payload) => heard.push(`${channel} ${payload}`));
  await listener.run({ name: "test_listen", text: "listen dunlin_events" });

  assert.match(
    await run("inv_1"),
    /^Stopped the recovery of inv_1\. Event [0-9a-f-]{36} \(complete_dunning\) is being sent\.$/,
  );
  await assert.rejects(run("inv_1"), /There is nothing to stop\. The case ended already: a person stopped/);
  await assert.rejects(run("inv_both"), /2 merchants have an invoice inv_both\. Choose one with --merchant/);
  await assert.rejects(run("inv_2"), /There is no invoice inv_2/);
  await assert.rejects(run("inv_1", { merchant: second.id }), /There is no invoice inv_1/);
  const done: StopResult = JSON.parse(await run("inv_both", { merchant: second.id, json: true }));
  const [event, ...others] = await listDeliveries(db, second.id, { limit: 10 });
  assert.deepEqual(
    [event!.eventId, event!.type, event!.state, others],
    [done.eventId, "complete_dunning", "waiting", []],
  );
  await listener.run({ name: "", text: "select 1" });
  await listener.close();
  assert.deepEqual(heard, [`dunlin_events ${first.id}`, `dunlin_events ${second.id}`]);
});

test("`recovery retry-now` requests a retry, and `recovery postpone` refuses to move what was requested", async () => {
  const { db } = database;
  const now = realPorts.now();
  const merchant = await makeMerchant(db);
  const invoice = { customerId: "cus_1", amount: 100, currency: "EUR", createdAt: now, updatedAt: now };
  await ingestInvoices(db, merchant, [[{ ...invoice, id: "inv_now", state: "UNPAID" }]], realPorts, () => {});
  const later = new Date(now.getTime() + 5 * 86_400_000).toISOString();
  const postpone = (until: string) => runAndCapture(db, recoveryPostpone, { until }, ["inv_now"]);
  assert.equal(await postpone(later), `Postponed the retries of inv_now until ${later}.`);
  assert.match(
    await runAndCapture(db, recoveryRetryNow, {}, ["inv_now"]),
    /^Requested a retry of inv_now\. Event [0-9a-f-]{36} \(recovery_action\) is being sent\.$/,
  );
  await assert.rejects(postpone(later), /Nothing was postponed\. A retry was requested already/);
  await assert.rejects(runAndCapture(db, recoveryPostpone, {}, ["inv_now"]), /--until is missing/);
  await assert.rejects(runAndCapture(db, recoveryRetryNow, {}, ["inv_none"]), /There is no invoice inv_none/);
});
