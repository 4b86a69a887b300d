import assert from "node:assert/strict";
import { test } from "node:test";
import { measureFalseAlarms } from "../../../lab/experiments/experiment-error-rates.ts";

test("300 holdouts of 10% with few recovered invoices raise no more alarms and keep a true difference in range", () => {
  const holdout = { share: 0.9, recovered: 0.02, spread: 0.01, again: 0 };
  const { any } = measureFalseAlarms(300, holdout);
  // At a true rate of 5%, more than 27 have a probability of 0.2%.
  assert.ok(any <= 27, `${any} alarms`);
  const { difference } = measureFalseAlarms(300, { ...holdout, primary: "USD", recovered: 0.05 });
  assert.ok(difference <= 27, `${difference} alarms by money`);
  const missed = measureFalseAlarms(300, { ...holdout, effect: 0.03 }).difference;
  assert.ok(missed <= 27, `${missed} ranges without the truth`);
});
