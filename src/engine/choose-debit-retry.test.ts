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
    const of = buildPosterior("FUNDS");
    of.clock = { ...of.clock, booking };
    const asked = buildRetryContext();
    const { slots } = chooseRetry(model, of, asked)!.weighed.forecast;
    const later = slots.filter((at) => at > asked.now + 2 * DAY && at < asked.windowEndsAt - HOUR);
    return [...new Set(later.map((at) => new Date(at + of.clock.offsetMs).getUTCHours()))].sort((a, b) => a - b);
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
    const moments = [chosen.at, ...chosen.next];
    for (let next = 1; next < moments.length; next++)
      assert.ok(
        Math.floor((moments[next]! + debit.clock.offsetMs) / DAY) > settlementDay(debit.clock, moments[next - 1]!),
        `case ${n}: ${moments.map((moment) => new Date(moment).toISOString()).join(", ")}`,
      );
  }
});
