import assert from "node:assert/strict";
import { test } from "node:test";
import { createWallClock } from "./wall-clock.ts";

const HOUR = 3_600_000;
const START = Date.parse("2026-05-01T12:00:00Z");

/** A machine whose clock can be set. */
function machine() {
  const at = { wallMs: START, monotonicMs: 500 };
  const clock = createWallClock(
    () => at.wallMs,
    () => at.monotonicMs,
  );
  const jumps: number[] = [];
  clock.onJump((byMs) => jumps.push(byMs));
  const pass = (ms: number) => {
    at.wallMs += ms;
    at.monotonicMs += ms;
  };
  return {
    clock,
    jumps,
    pass,
    set(byMs: number) {
      at.wallMs += byMs;
    },
    /** Syncs with a database that reports this time after 20 ms. */
    ask(databaseMs: number) {
      const requestedMs = clock.nowMs();
      pass(20);
      return clock.syncTo(databaseMs + 10, requestedMs, clock.nowMs());
    },
  };
}

test("an undisturbed clock follows the machine's", () => {
  const { clock, pass, jumps } = machine();
  pass(10 * HOUR);
  assert.equal(clock.nowMs(), START + 10 * HOUR);
  assert.deepEqual([clock.figures(), jumps], [{ offsetMs: 0, jumps: 0 }, []]);
});

test("a jump of the machine's clock is reported once and does not change the time", () => {
  for (const byMs of [HOUR, -HOUR, 1_001, -1_001]) {
    const { clock, pass, set, jumps } = machine();
    pass(1_000);
    set(byMs);
    assert.equal(clock.nowMs(), START + 1_000);
    pass(12_000);
    assert.equal(clock.nowMs(), START + 13_000);
    assert.deepEqual([clock.figures(), jumps], [{ offsetMs: -byMs, jumps: 1 }, [byMs]]);
    set(-byMs);
    assert.equal(clock.nowMs(), START + 13_000);
    assert.deepEqual(jumps, [byMs, -byMs]);
    assert.deepEqual(clock.figures(), { offsetMs: 0, jumps: 2 });
  }
});

test("a change of up to a second is adopted", () => {
  const { clock, set, jumps } = machine();
  set(1_000);
  assert.equal(clock.nowMs(), START + 1_000);
  assert.deepEqual(jumps, []);
});

test("the database's time is adopted when it differs by more than a second", () => {
  const one = machine();
  assert.equal(one.ask(START + 900), 0);
  assert.equal(one.ask(START - 900), 0);
  assert.equal(one.clock.figures().offsetMs, 0);
  assert.equal(one.ask(one.clock.nowMs() + 5_000), 5_000);
  assert.equal(one.clock.nowMs(), START + 60 + 5_000);
  assert.equal(one.ask(one.clock.nowMs() - 2_000), -2_000);
  assert.equal(one.clock.figures().offsetMs, 3_000);
});

test("a jump is adopted when the database's clock made it too, in both directions", () => {
  const { clock, set, pass, ask } = machine();
  set(HOUR);
  assert.equal(clock.nowMs(), START);
  assert.equal(ask(START + HOUR), HOUR);
  assert.equal(clock.nowMs(), START + HOUR + 20);
  assert.deepEqual(clock.figures(), { offsetMs: 0, jumps: 1 });
  pass(12_000);
  set(-HOUR);
  assert.equal(ask(START + 12_020), -HOUR);
  assert.equal(clock.nowMs(), START + 12_040);
});

test("a slow answer only shows that the time lay between request and answer", () => {
  const { clock, pass } = machine();
  const requestedMs = clock.nowMs();
  pass(8_000);
  assert.equal(clock.syncTo(START + 1_000, requestedMs, clock.nowMs()), 0);
  assert.equal(clock.syncTo(START + 7_000, requestedMs, clock.nowMs()), 0);
  assert.equal(clock.syncTo(START + 10_000, requestedMs, clock.nowMs()), 6_000);
});
