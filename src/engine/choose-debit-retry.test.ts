import assert from "node:assert/strict";
import { test } from "node:test";
import { buildPosterior, buildRetryContext, DAY, HOUR, trainedModel } from "./choose-retry.fixture.ts";
import { chooseRetry } from "./choose-retry.ts";
import { classOf, hourWeight } from "./learned/model-layout.ts";
import { IMMEDIATE, SETTLEMENT_PATTERNS, settlementDay } from "./learned/settlement.ts";

test("debits ignore the hours of cards, since they are booked without a time of day", () => {
  const model = { ...trainedModel, mean: trainedModel.mean.slice() };
  model.mean[hourWeight(classOf("FUNDS"), 5)] = 1;
  const laterHours = (booking: number) => {
    const posterior = buildPosterior("FUNDS");
    posterior.clock = { ...posterior.clock, booking };
    const retryContext = buildRetryContext();
    const { slots } = chooseRetry(model, posterior, retryContext)!.weighedPlan.forecast;
    const later = slots.filter((at) => at > retryContext.now + 2 * DAY && at < retryContext.windowEndsAt - HOUR);
    return [...new Set(later.map((at) => new Date(at + posterior.clock.offsetMs).getUTCHours()))].sort((a, b) => a - b);
  };
  assert.deepEqual(laterHours(IMMEDIATE), [5, 21]);
  assert.deepEqual(laterHours(3), [9, 21]);
});

test("no retry is planned before the previous one's booking day is over", () => {
  for (let n = 0; n < 60; n++) {
    const debit = buildPosterior("FUNDS");
    debit.clock = {
      ...debit.clock,
      booking: SETTLEMENT_PATTERNS.findIndex((one) => one?.cutoff === 14 && one.businessDays === 2),
    };
    const chosen = chooseRetry(trainedModel, debit, buildRetryContext({ key: `case-${n}` }))!;
    const times = [chosen.at, ...chosen.nextTimes];
    for (let next = 1; next < times.length; next++)
      assert.ok(
        Math.floor((times[next]! + debit.clock.offsetMs) / DAY) > settlementDay(debit.clock, times[next - 1]!),
        `case ${n}: ${times.map((time) => new Date(time).toISOString()).join(", ")}`,
      );
  }
});
