import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { createManualClock, makeEvents, makeMerchant, START } from "../delivery/deliverer.fixture.ts";
import { prepared } from "../postgres/database.ts";
import { cacheResult } from "./delivery-metrics.ts";
import { createMetrics } from "./metrics.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

/** Returns the values of a metric by their label, or by "". */
async function readSeries(metrics: ReturnType<typeof createMetrics>, name: string) {
  const text = await metrics.registry.metrics();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return new Map(lines.map((line) => [/"([^"]*)"/.exec(line)?.[1] ?? "", Number(line.split(" ").at(-1))]));
}

test("queue metrics cover the twenty merchants with the most events, and all others together", async () => {
  const { ports, wait } = createManualClock();
  const merchants = [];
  for (let i = 1; i <= 23; i++) {
    const merchant = await makeMerchant(database.db);
    await makeEvents(database.db, merchant, i, new Date(START.getTime() + i * 1_000));
    merchants.push(merchant);
  }
  wait(60_000);
  const metrics = createMetrics(database.db, ports);
  const waiting = await readSeries(metrics, "dunlin_merchant_deliveries_waiting");
  assert.equal(waiting.size, 21);
  assert.equal(waiting.get("other"), 1 + 2 + 3);
  assert.equal(waiting.get(merchants[22]!.id), 23);
  assert.equal((await readSeries(metrics, "dunlin_deliveries_waiting")).get(""), (23 * 24) / 2);
  const ages = await readSeries(metrics, "dunlin_merchant_oldest_due_seconds");
  assert.deepEqual([ages.size, ages.get("other"), ages.get(merchants[22]!.id)], [21, 59, 37]);
});

const SET_DUE = prepared(
  "test_set",
  `update merchants set webhook_paused = $2, webhook_paused_at = $3, webhook_paused_by = $4, webhook_failing_since = $5 where id = $1`,
);

test("endpoints with problems are counted, and paused ones have no age", async () => {
  const other = await createTestDatabase();
  after(() => other.drop());
  const states = [
    [false, null, null, null],
    [false, null, null, START],
    [false, null, null, START],
    [true, START, "dunlin", START],
    [true, START, "person", START],
    [true, null, null, null],
  ];
  for (const [index, state] of states.entries()) {
    const merchant = await makeMerchant(other.db);
    await makeEvents(other.db, merchant, index + 1, START);
    await other.db.run(SET_DUE, [merchant.id, ...state]);
  }
  const { ports } = createManualClock();
  const metrics = createMetrics(other.db, ports);
  const endpoints = await readSeries(metrics, "dunlin_endpoints");
  assert.deepEqual(Object.fromEntries(endpoints), { failing: 2, paused_by_dunlin: 1, paused_by_person: 2 });
  assert.equal((await readSeries(metrics, "dunlin_merchant_oldest_due_seconds")).size, 3);
  assert.equal((await readSeries(metrics, "dunlin_merchant_deliveries_waiting")).size, 6);
});

test("attempts are counted by result, and lateness by attempt 1, 2 to 4 and later", async () => {
  const { ports } = createManualClock();
  const metrics = createMetrics(database.db, ports);
  const seen = (number: number, status: number | null, latenessMs: number) =>
    metrics.onAttempt({ number, success: status === 200, status, durationMs: 20, latenessMs });
  seen(1, 200, 5);
  seen(1, null, 5);
  seen(2, 500, 40);
  seen(4, 302, 60);
  seen(5, 429, 1_500);
  seen(7, 200, -3);
  const results = await readSeries(metrics, "dunlin_delivery_attempt_seconds_count");
  assert.deepEqual(Object.fromEntries(results), { "2xx": 2, "no answer": 1, "3xx": 1, "4xx": 1, "5xx": 1 });
  const counts = await readSeries(metrics, "dunlin_delivery_lateness_seconds_count");
  assert.deepEqual(Object.fromEntries(counts), { "1": 2, "2-4": 2, later: 2 });
  const sums = await readSeries(metrics, "dunlin_delivery_lateness_seconds_sum");
  assert.deepEqual([sums.get("2-4"), sums.get("later")], [0.1, 1.5]);
});

test("a sending process shows leases, attempts in flight and connections", async () => {
  const { ports } = createManualClock();
  const metrics = createMetrics(database.db, ports);
  metrics.watchDeliverer(() => ({ leases: 32, inFlight: 7, unsent: 4, connections: { open: 10, idle: 3, made: 25 } }));
  assert.equal((await readSeries(metrics, "dunlin_leases_held")).get(""), 32);
  assert.equal((await readSeries(metrics, "dunlin_deliveries_in_flight")).get(""), 7);
  assert.deepEqual(Object.fromEntries(await readSeries(metrics, "dunlin_webhook_connections")), { busy: 7, idle: 3 });
  for (let i = 0; i < 2; i++) {
    assert.equal((await readSeries(metrics, "dunlin_webhook_connections_made_total")).get(""), 25);
    assert.equal((await readSeries(metrics, "dunlin_deliveries_unsent_total")).get(""), 4);
  }
});

test("record counters start at zero, so a kind that is never pushed has a series", async () => {
  const metrics = createMetrics(database.db, createManualClock().ports);
  const text = await metrics.registry.metrics();
  const lines = text.split("\n").filter((line) => line.startsWith("dunlin_ingested_records_total{"));
  assert.deepEqual(
    lines.sort(),
    ["invoices", "subscriptions", "transactions"].flatMap((kind) =>
      ["changed", "known", "older"].map(
        (result) => `dunlin_ingested_records_total{kind="${kind}",result="${result}"} 0`,
      ),
    ),
  );
});

test("a result is cached for 15 seconds, or a hundred times as long as it took", async () => {
  let nowMs = 0;
  let calls = 0;
  let tookMs = 10;
  const load = cacheResult({ monotonicMs: () => nowMs }, async () => {
    calls++;
    nowMs += tookMs;
    return calls;
  });
  assert.deepEqual(await Promise.all([load(), load(), load()]), [1, 1, 1]);
  nowMs = 15_009;
  assert.equal(await load(), 1);
  nowMs = 15_011;
  tookMs = 4_000;
  assert.equal(await load(), 2);
  nowMs += 399_000;
  assert.equal(await load(), 2);
  nowMs += 2_000;
  assert.equal(await load(), 2, "a slow refresh returns the old result");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await load(), 3);
});

test("an outage is not hidden by a cached result, and ends when the database is back", async () => {
  let nowMs = 0;
  let isDown = false;
  const load = cacheResult({ monotonicMs: () => nowMs }, async () => {
    if (isDown) throw new Error("gone");
    return randomUUID();
  });
  await load();
  nowMs = 20_000;
  isDown = true;
  await assert.rejects(load());
  await assert.rejects(load());
  isDown = false;
  await load();
});
