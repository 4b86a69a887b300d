import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countDetectedSplits,
  measureFalseAlarms,
  measureStoppingTimes,
} from "../../../lab/experiments/experiment-error-rates.ts";

// The short form of `npm run lab -- experiments`.

test("of 200 A/A tests that are looked at daily for 90 days, hardly one raises an alarm", () => {
  const { any, plain } = measureFalseAlarms(200, { customersPerDay: 30, calibrationDays: 20 });
  // At a true rate of 5 % more than 19 have a chance of 0.2 %.
  assert.ok(any <= 19, `${any} alarms`);
  assert.ok(plain >= 30, `a plain interval is fooled by peeking, here in ${plain} runs`);
});

test("of a holdout of one customer in ten, of whose invoices few are recovered, no more raise one, and none loses a true difference", () => {
  const holdout = { share: 0.9, recovered: 0.02, spread: 0.01, again: 0 };
  const { any } = measureFalseAlarms(300, holdout);
  // At a true rate of 5 % more than 27 have a chance of 0.2 %.
  assert.ok(any <= 27, `${any} alarms`);
  const { difference } = measureFalseAlarms(300, { ...holdout, primary: "USD", recovered: 0.05 });
  assert.ok(difference <= 27, `${difference} alarms by money`);
  const missed = measureFalseAlarms(300, { ...holdout, effect: 0.03 }).difference;
  assert.ok(missed <= 27, `${missed} ranges without the truth`);
});

test("a difference of five points is told within 1.5 times the invoices of a z-test that may look but once", () => {
  const { median, fixed, wrong } = measureStoppingTimes(0.05, 60);
  assert.ok(median <= 1.5 * fixed, `${median} invoices, ${fixed} at once`);
  assert.ok(wrong <= 4, `${wrong} wrong verdicts`);
});

test("a split of 51 to 49 is caught by 55,000 invoices", () => {
  // At the promised 90 % of power fewer than 14 of 20 have a chance of 0.2 %.
  assert.ok(countDetectedSplits(20) >= 14);
});
