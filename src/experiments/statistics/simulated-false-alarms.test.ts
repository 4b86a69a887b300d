import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countDetectedSplits,
  measureFalseAlarms,
  measureStoppingTimes,
} from "../../../lab/experiments/experiment-error-rates.ts";

// The short form of `npm run lab -- experiments`. `simulated-false-alarms.world.test.ts` has a longer one.

test("200 A/A tests that are analyzed daily for 90 days raise hardly any alarm", () => {
  const { any, plain } = measureFalseAlarms(200, { customersPerDay: 30, calibrationDays: 20 });
  // At a true rate of 5%, more than 19 have a probability of 0.2%.
  assert.ok(any <= 19, `${any} alarms`);
  assert.ok(plain >= 30, `a plain interval is fooled by peeking, here in ${plain} runs`);
});

test("a holdout of 10% with few recovered invoices raises no more alarms and keeps a true difference in range", () => {
  // At the measured rate of 2%, more than 6 of 100 have a probability of 0.4%. A plain interval raises up to 12 here.
  const holdout = { share: 0.9, recovered: 0.02, spread: 0.01, again: 0 };
  const { any } = measureFalseAlarms(100, holdout);
  assert.ok(any <= 6, `${any} alarms`);
  const { difference, plain } = measureFalseAlarms(100, { ...holdout, primary: "USD", recovered: 0.05 });
  assert.ok(difference <= 6 && plain > 6, `${difference} alarms by money, ${plain} of a plain interval`);
  const missed = measureFalseAlarms(100, { ...holdout, effect: 0.03 }).difference;
  assert.ok(missed <= 6, `${missed} ranges without the truth`);
});

test("a difference of five points is found within 1.5 times the invoices of a z-test that checks once", () => {
  const { median, fixed, wrong } = measureStoppingTimes(0.05, 60);
  assert.ok(median <= 1.5 * fixed, `${median} invoices, ${fixed} at once`);
  assert.ok(wrong <= 4, `${wrong} wrong verdicts`);
});

test("a split of 51 to 49 is detected within 55,000 invoices", () => {
  // At the promised power of 90%, fewer than 14 of 20 have a probability of 0.2%.
  assert.ok(countDetectedSplits(20) >= 14);
});
