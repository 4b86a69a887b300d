import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import pino from "pino";
import { DAY_MS, MINUTE_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Database, Statement } from "../postgres/database.ts";
import type { EndedAttempt } from "../tables/delivery-attempts.ts";
import { createManualClock, START } from "./deliverer.fixture.ts";
import { createEndpointHealth } from "./endpoint-health.ts";
import { createLane } from "./merchant-lane.ts";

/** The writes and warnings of a failure `afterMs` after the first one; `number` is its attempt number. */
async function outcomeOf({ afterMs, marked, number = 6 }: { afterMs: number; marked: boolean; number?: number }) {
  const seen: string[] = [];
  const db = {
    async run({ name }: Statement) {
      seen.push(name);
      return { rows: [], rowCount: 1 };
    },
  } as unknown as Database;
  const log = pino({ level: "warn" }, { write: (line: string) => seen.push(JSON.parse(line).msg) });
  const { ports, wait } = createManualClock();
  const health = createEndpointHealth({ db, ports, log });
  const lane = createLane({
    webhookCap: 5,
    webhookPaused: false,
    webhookFailingSince: marked ? START : null,
  } as Merchant);
  const fail = () => health.recordFailure(lane, { endedAt: ports.now(), epoch: 1, number } as EndedAttempt);
  if (!marked) fail();
  wait(afterMs);
  fail();
  await nextTurn();
  return seen;
}

test("an endpoint is marked as failing when it has failed for a minute", async () => {
  assert.deepEqual(await outcomeOf({ marked: false, afterMs: MINUTE_MS - 1 }), []);
  assert.deepEqual(await outcomeOf({ marked: false, afterMs: MINUTE_MS }), ["mark_endpoint_failing"]);
});

test("a warning is logged when an endpoint has failed for a day", async () => {
  assert.deepEqual(await outcomeOf({ marked: true, afterMs: DAY_MS - 1 }), []);
  assert.deepEqual(await outcomeOf({ marked: true, afterMs: DAY_MS }), ["endpoint.failing"]);
});

test("an endpoint is paused when it has failed for three days and the attempt is the fourth or later", async () => {
  const paused = ["pause_failing_endpoint", "endpoint.paused"];
  assert.deepEqual(await outcomeOf({ marked: true, afterMs: 3 * DAY_MS - 1 }), ["endpoint.failing"]);
  assert.deepEqual(await outcomeOf({ marked: true, afterMs: 3 * DAY_MS }), paused);
  assert.deepEqual(await outcomeOf({ marked: true, afterMs: 3 * DAY_MS, number: 3 }), ["endpoint.failing"]);
  assert.deepEqual(await outcomeOf({ marked: true, afterMs: 3 * DAY_MS, number: 4 }), paused);
});
