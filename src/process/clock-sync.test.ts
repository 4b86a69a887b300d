import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { createTestDatabase } from "../../test/database.ts";
import { testMerchant } from "../api/api.fixture.ts";
import { firstDeliveriesDue } from "../tables/deliveries.ts";
import { insertEvents } from "../tables/events.ts";
import { createRealPorts } from "./clock.ts";
import { startClockSync } from "./clock-sync.ts";
import { createWallClock } from "./wall-clock.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const HOUR = 3_600_000;

/** Starts a sync on a machine whose clock is ahead. */
function startTestSync(t: TestContext, aheadMs: number) {
  const machine = { aheadMs };
  const clock = createWallClock(
    () => Date.now() + machine.aheadMs,
    () => performance.now(),
  );
  const ports = createRealPorts({ realAt: new Date(0), serviceAt: new Date(0), rate: 1 }, clock);
  const lines: { msg: string; byMs?: number }[] = [];
  const log = pino({}, { write: (line) => lines.push(JSON.parse(line)) });
  const done = Promise.withResolvers<void>();
  return {
    machine,
    clock,
    ports,
    lines,
    setBack: done.promise,
    watch() {
      const loop = startClockSync({ db, clock, ports, log, onSetBack: done.resolve });
      t.after(() => loop.stop());
    },
    aheadMs: () => clock.nowMs() - Date.now(),
  };
}

async function waitUntil(isTrue: () => boolean) {
  for (let checks = 0; !isTrue(); checks++) {
    assert.ok(checks < 500, "it took too long");
    await sleep(10);
  }
}

test("a machine that is an hour ahead adopts the database's time, and records it wrote become due at once", async (t) => {
  const { ports, watch, setBack, lines, clock, aheadMs } = startTestSync(t, HOUR);
  const merchant = await testMerchant(db, ports);
  const event = { caseId: ports.newId(), invoiceId: "inv_1", type: "pause_collection" as const, body: "{}" };
  await insertEvents(db, merchant.id, [{ id: ports.newId(), createdAt: ports.now(), ...event }]);
  watch();
  await setBack;
  assert.ok(Math.abs(aheadMs()) < 1_000);
  assert.ok(Math.abs(clock.figures().offsetMs + HOUR) < 1_000);
  const [due] = await firstDeliveriesDue(db, [{ id: merchant.id, from: new Date(0) }]);
  assert.ok(due!.dueAt! <= ports.now());
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ["clock.set", "clock.mended"],
  );
});

test("each jump of the machine's clock is logged and does not change the time", async (t) => {
  const { machine, watch, lines, aheadMs, ports } = startTestSync(t, 0);
  watch();
  await sleep(50);
  for (const byMs of [HOUR, -HOUR]) {
    machine.aheadMs += byMs;
    assert.ok(Math.abs(aheadMs()) < 1_000);
    assert.ok(Math.abs(ports.now().getTime() - Date.now()) < 1_000);
    await waitUntil(() => Math.abs((lines.at(-1)?.byMs ?? 0) - byMs) < 100);
  }
  assert.ok(lines.every(({ msg }) => msg === "clock.jumped"));
});

test("a jump is adopted when the database's clock made it too", async (t) => {
  // The machine lags behind the database, whose clock did not jump.
  const { machine, watch, aheadMs, lines } = startTestSync(t, -HOUR);
  watch();
  await waitUntil(() => Math.abs(aheadMs()) < 1_000);
  machine.aheadMs += HOUR;
  assert.ok(Math.abs(aheadMs()) < 1_000);
  await waitUntil(() => lines.some(({ msg }) => msg === "clock.jumped"));
});
