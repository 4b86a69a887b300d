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
    /** The database is asked, and says this time. The answer takes 20 ms. */
    ask(databaseMs: number) {
      const askedMs = clock.nowMs();
      pass(20);
      return clock.agree(databaseMs + 10, askedMs, clock.nowMs());
    },
  };
}

test("a clock that nobody sets goes with the machine's", () => {
  const { clock, pass, jumps } = machine();
  pass(10 * HOUR);
  assert.equal(clock.nowMs(), START + 10 * HOUR);
  assert.deepEqual([clock.figures(), jumps], [{ offsetMs: 0, jumps: 0 }, []]);
});

test("a jump of the machine's clock, ahead or back, is told once and changes no time", () => {
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

test("a change of up to a second is followed", () => {
  const { clock, set, jumps } = machine();
  set(1_000);
  assert.equal(clock.nowMs(), START + 1_000);
  assert.deepEqual(jumps, []);
});

test("the database's time is taken over where it differs by more than a second", () => {
  const one = machine();
  assert.equal(one.ask(START + 900), 0);
  assert.equal(one.ask(START - 900), 0);
  assert.equal(one.clock.figures().offsetMs, 0);
  assert.equal(one.ask(one.clock.nowMs() + 5_000), 5_000);
  assert.equal(one.clock.nowMs(), START + 60 + 5_000);
  assert.equal(one.ask(one.clock.nowMs() - 2_000), -2_000);
  assert.equal(one.clock.figures().offsetMs, 3_000);
});

test("where the database's clock jumped as well, the jump is followed, and back again", () => {
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

test("an answer that took long says no more than that the time lay in between", () => {
  const { clock, pass } = machine();
  const askedMs = clock.nowMs();
  pass(8_000);
  assert.equal(clock.agree(START + 1_000, askedMs, clock.nowMs()), 0);
  assert.equal(clock.agree(START + 7_000, askedMs, clock.nowMs()), 0);
  assert.equal(clock.agree(START + 10_000, askedMs, clock.nowMs()), 6_000);
});
