import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import { newIncident, stepGivenUp, stepState } from "./incident-steps.ts";

const START = Date.UTC(2026, 0, 15);
const at = (ms: number) => new Date(START + ms);

test("a matter is announced once after its delay, and its end is announced once", () => {
  let incident = newIncident("endpoint");
  const announced = [0, 4, 5, 6, 60].map((minute) => {
    const step = stepState(incident, true, at(minute * MINUTE_MS), 5 * MINUTE_MS);
    incident = step.next;
    return step.announces;
  });
  assert.deepEqual(announced, [null, null, "begin", null, null]);
  const ended = stepState(incident, false, at(HOUR_MS), 5 * MINUTE_MS);
  assert.equal(ended.announces, "end");
  assert.deepEqual(ended.next, newIncident("endpoint"));
  assert.equal(stepState(ended.next, false, at(HOUR_MS), 0).announces, null);
});

test("a matter that ends before its delay is not announced", () => {
  const { next } = stepState(newIncident("endpoint"), true, at(0), 5 * MINUTE_MS);
  assert.equal(stepState(next, false, at(MINUTE_MS), 5 * MINUTE_MS).announces, null);
  const again = stepState(newIncident("endpoint"), true, at(10 * MINUTE_MS), 5 * MINUTE_MS);
  assert.deepEqual(again.next.since, at(10 * MINUTE_MS));
});

test("events given up are announced once, later ones after a pause, and the end when all were sent again", () => {
  const facts = (total: number, newCount: number) => ({ total, newCount, latestAt: at(0) });
  const first = stepGivenUp(newIncident("given_up"), facts(2, 2), at(0));
  assert.equal(first.announces, "begin");
  assert.deepEqual(first.next.readTo, at(0));
  assert.equal(stepGivenUp(first.next, facts(2, 0), at(2 * HOUR_MS)).announces, null);
  assert.equal(stepGivenUp(first.next, facts(3, 1), at(30 * MINUTE_MS)).announces, null);
  assert.equal(stepGivenUp(first.next, facts(3, 1), at(HOUR_MS)).announces, "begin");
  assert.equal(stepGivenUp(first.next, { total: 0, newCount: 0, latestAt: null }, at(HOUR_MS)).announces, "end");
});
