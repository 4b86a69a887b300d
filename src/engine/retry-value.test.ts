import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned/learned-model.ts";
import { amountDueUsd, retryValueOf, withMargin } from "./retry-value.ts";

const DAY = 86_400_000;
const isNear = (one: number, other: number) => assert.ok(Math.abs(one - other) < 1e-9, `${one}, ${other}`);

test("money loses 0.4% of its value a day, and a retry costs 12 cents and 0.3%", () => {
  const { valueAt, cost } = retryValueOf(20, 5 * DAY);
  isNear(valueAt(5 * DAY), 1);
  isNear(valueAt(15 * DAY), 0.96);
  isNear(cost, 0.009);
});

test("a retry must bring 2% plus 40 cents, at most 6%, times the approval rate, above its cost", () => {
  const model = newLearnedModel();
  const margin = (dollars: number) => {
    const retryValue = retryValueOf(dollars, 0);
    return withMargin(retryValue, model, dollars).cost - retryValue.cost;
  };
  model.tries[0] = 1;
  isNear(margin(20), 0.04);
  isNear(margin(200), 0.022);
  isNear(margin(1), 0.06);
  model.tries[0] = 0.25;
  isNear(margin(20), 0.01);
});

test("the amount due counts in dollars whatever the currency, and never as zero", () => {
  isNear(amountDueUsd(2000, "USD"), 20);
  isNear(amountDueUsd(3000, "JPY"), 20);
  isNear(amountDueUsd(0, "USD"), 0.01);
});
