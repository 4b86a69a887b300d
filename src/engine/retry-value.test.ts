import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned/learned-model.ts";
import { amountDueUsd, retryValueOf, withMargin } from "./retry-value.ts";

const DAY = 86_400_000;
const isNear = (one: number, other: number) => assert.ok(Math.abs(one - other) < 1e-9, `${one}, ${other}`);

test("money loses 0.4% of its worth a day, and a try costs 12 cents and 0.3%", () => {
  const { worthAt, cost } = retryValueOf(20, 5 * DAY);
  isNear(worthAt(5 * DAY), 1);
  isNear(worthAt(15 * DAY), 0.96);
  isNear(cost, 0.009);
});

test("a try must bring 2% and 40 cents more than it costs, 6% at most, times the share of tries that are approved", () => {
  const learned = newLearnedModel();
  const margin = (dollars: number) => {
    const stakes = retryValueOf(dollars, 0);
    return withMargin(stakes, learned, dollars).cost - stakes.cost;
  };
  learned.tries[0] = 1;
  isNear(margin(20), 0.04);
  isNear(margin(200), 0.022);
  isNear(margin(1), 0.06);
  learned.tries[0] = 0.25;
  isNear(margin(20), 0.01);
});

test("what is due is counted in dollars whatever the currency, and never as nothing", () => {
  isNear(amountDueUsd(2000, "USD"), 20);
  isNear(amountDueUsd(3000, "JPY"), 20);
  isNear(amountDueUsd(0, "USD"), 0.01);
});
