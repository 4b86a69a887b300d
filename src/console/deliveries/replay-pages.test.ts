import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Send } from "../../delivery/https/https-sender.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { listAttemptsOfEvent } from "../../tables/delivery-attempts.ts";
import { createTestConsole, type TestConsole } from "../console.fixture.ts";
import { createDeliveriesShop, deliverForHours, endpointAnswering } from "./deliveries.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const refusingEndpoint = endpointAnswering(500);
const deliver = (send: Send, hours: number) => deliverForHours(at, send, hours);
const shop = () => createDeliveriesShop(at);

test("an allowed role sends an exhausted event again with its id and body", async () => {
  const { events, browser, merchant } = await shop();
  const [event] = await events(1);
  await deliver(refusingEndpoint, 1);
  const [developer, viewer] = [await browser("developer"), await browser("viewer")];
  const path = `/deliveries/${event!.id}`;
  assert.doesNotMatch((await viewer.get(path)).body, /Send again/);
  assert.equal((await viewer.post(`${path}/replay`)).statusCode, 403);
  assert.match((await developer.get(path)).body, /Send again/);
  assert.equal((await developer.post(`${path}/replay`)).headers.location, path);
  assert.deepEqual(at.toSend, [merchant.id]);
  const bodies: string[] = [];
  await deliver(async ({ body }) => {
    bodies.push(body);
    return { outcome: "response", status: 200, retryAfter: null, text: "" };
  }, 0);
  assert.deepEqual(bodies, [event!.body]);
  const attempts = await listAttemptsOfEvent(at.db, merchant.id, event!.id);
  assert.deepEqual(attempts.map(({ round, number }) => [round, number]).at(-1), [2, 1]);
  assert.match((await developer.get(path)).body, /round 2[\s\S]*at the replay/);
  const again = await developer.post(`${path}/replay`);
  assert.equal(again.statusCode, 409);
  assert.match(again.body, /it was delivered/);
});

const PAID = {
  name: "test_paid",
  text: "update cases set ended_at = $2, end_reason = 'paid' where merchant_id = $1 and invoice_id = $3",
};

test("a replay of many events keeps its filter and counts skipped events by reason", async () => {
  const { events, browser, merchant } = await shop();
  const first = await events(2, "pause_collection");
  await events(3, "complete_dunning");
  await deliver(refusingEndpoint, 3);
  await at.db.run(PAID, [merchant.id, at.ports.now(), first[0]!.invoiceId]);
  const developer = await browser("developer");
  const none = (await developer.get("/deliveries/replay?type=recovery_action")).body;
  assert.match(none, /No exhausted event matches these filters[\s\S]*<form method="get" class="filters"/);
  const preview = (await developer.get("/deliveries/replay?type=pause_collection")).body;
  assert.match(preview, /1 of 2 exhausted events can be sent again/);
  assert.match(preview, /1 skipped: the invoice was paid meanwhile/);
  const asked = await developer.post("/deliveries/replay", {
    type: "pause_collection",
    createdFrom: "",
    createdTo: "",
  });
  const path = String(asked.headers.location);
  const under = (await developer.get(path)).body;
  assert.match(under, /data-live="1"[\s\S]*0 sent again, 0 skipped, 2 left[\s\S]*<progress max="2" value="0"/);
  const again = await developer.post("/deliveries/replay", { type: "", createdFrom: "", createdTo: "" });
  assert.equal(again.statusCode, 409, "one at a time");
  assert.equal(await at.work("replay"), true);
  const done = (await developer.get(path)).body;
  assert.match(done, /1 sent again, 1 skipped\.[\s\S]*1 skipped: the invoice was paid meanwhile/);
  assert.doesNotMatch(done, /data-live/);
  assert.match((await developer.get("/deliveries/replay")).body, new RegExp(`Earlier replays[\\s\\S]*href="${path}"`));
  const [entry, ask] = await auditOf(merchant);
  const { createdTo, ...details } = entry!.details;
  assert.deepEqual(
    [entry?.operation, details],
    ["delivery.replayed", { type: "pause_collection", replayed: 1, skipped: 1 }],
  );
  assert.deepEqual(
    [ask?.operation, ask?.details.events, ask?.details.createdTo],
    ["delivery.replay_asked", 2, createdTo],
  );
  assert.match((await developer.get("/deliveries?state=exhausted")).body, />4 exhausted</);
  const viewer = await browser("viewer");
  assert.equal((await viewer.get(path)).statusCode, 403);
  const stranger = await (await shop()).browser("developer");
  assert.equal((await stranger.get(path)).statusCode, 404);
});

const auditOf = (merchant: Merchant) => listAuditEntries(at.db, merchant.id, {}, 10);

test("the preview of a replay can be filtered, and the replay sends what it showed", async () => {
  const { events, browser } = await shop();
  await events(1, "pause_collection");
  await events(1, "complete_dunning");
  await deliver(refusingEndpoint, 3);
  const developer = await browser("developer");
  await developer.post("/account", { zone: "Europe/Berlin", theme: "system" });
  const filters = /<form method="get" class="filters"/;
  const all = (await developer.get("/deliveries/replay")).body;
  assert.match(all, /2 of 2 exhausted events can be sent again/);
  assert.match(all, filters, "there is something to narrow");
  const [from, to] = ["2026-01-01T10:00:00.000Z", "2026-12-31T10:00:00.000Z"].map(encodeURIComponent);
  const narrowed = (await developer.get(`/deliveries/replay?type=pause_collection&createdFrom=${from}&createdTo=${to}`))
    .body;
  assert.match(narrowed, /1 of 1 exhausted event can be sent again/);
  assert.match(narrowed, filters);
  // Local times in the filter form, UTC in the form that starts the replay.
  assert.match(narrowed, /<option value="pause_collection" selected/);
  for (const [name, shown, sent] of [
    ["createdFrom", "2026-01-01T11:00", "2026-01-01T10:00:00.000Z"],
    ["createdTo", "2026-12-31T11:00", "2026-12-31T10:00:00.000Z"],
  ]) {
    assert.match(narrowed, new RegExp(`name="${name}" type="datetime-local" value="${shown}`));
    assert.match(narrowed, new RegExp(`type="hidden" name="${name}" value="${sent}"`));
  }
  assert.match(narrowed, /type="hidden" name="type" value="pause_collection"/);
});
