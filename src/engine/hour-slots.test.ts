import assert from "node:assert/strict";
import { test } from "node:test";
import { buildPosterior, buildRetryContext, DAY, HOUR, START, trainedModel } from "./choose-retry.fixture.ts";
import { type ChosenRetry, chooseRetry } from "./choose-retry.ts";
import { HOUR_EXPLORATION_RATE, MIN_RELATIVE_CHANCE } from "./hour-slots.ts";
import { type LearnedModel, newLearnedModel } from "./learned/learned-model.ts";
import { classOf, hourWeight, type Reason } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { MIN_RETRY_GAP_MS } from "./plan-evaluator.ts";

/** Of shares from a tenth to a half, standard errors are 0.009 to 0.016. */
const CASE_COUNT = 1000;

/** The first day that a retry may be planned for is a whole one. */
const posteriorOf = (reason: Reason) => ({ ...buildPosterior(reason), lastTriedAt: START - 12 * HOUR });

/** Chooses a retry for each of many cases that differ only in their ids. */
const chooseRetries = (model: LearnedModel, posterior = posteriorOf("FUNDS"), rest = {}): (ChosenRetry | null)[] =>
  Array.from({ length: CASE_COUNT }, (_, n) =>
    chooseRetry(model, posterior, buildRetryContext({ key: `case-${n}`, windowEndsAt: START + 14 * DAY, ...rest })),
  );

const slotOf = (at: number) => (new Date(at + 2 * HOUR).getUTCHours() - 1) / 4;
const localDay = (at: number) => Math.floor((at + 2 * HOUR) / DAY);

test("a fifth of decisions samples an hour of the planned day, more often the likelier it is the best, at little loss", () => {
  const drawnBy = (model: LearnedModel) => {
    const sampledCounts = Array<number>(6).fill(0);
    for (const { at, isHourSampled, isSampled: byLot, nextTimes, weighedPlan } of chooseRetries(model).map(
      (each) => each!,
    )) {
      assert.ok(
        nextTimes.length === 0 || nextTimes[0]! - at >= MIN_RETRY_GAP_MS,
        "what it took the place of is not the next one",
      );
      if (!isHourSampled) continue;
      const planned = weighedPlan.forecast.slots[weighedPlan.plan.slots[0]!]!;
      assert.ok(!byLot && at !== planned && localDay(at) === localDay(planned));
      const chanceAt = (time: number) => chanceOf(model, posteriorOf("FUNDS"), time);
      assert.ok(chanceAt(at) >= MIN_RELATIVE_CHANCE * chanceAt(planned));
      sampledCounts[slotOf(at)]!++;
    }
    return sampledCounts;
  };
  const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  const withHours = (weightOf: (hour: number) => number, variance: number) => {
    const model = { ...trainedModel, mean: trainedModel.mean.slice(), variance: trainedModel.variance.slice() };
    for (let hour = 0; hour < 24; hour += 2) {
      model.mean[hourWeight(classOf("FUNDS"), hour)] = weightOf(hour);
      model.variance[hourWeight(classOf("FUNDS"), hour)] = variance;
    }
    return model;
  };
  const isOften = (count: number) => count > 0.015 * CASE_COUNT;
  const alike = drawnBy(trainedModel);
  assert.ok(total(alike) > 0.12 * CASE_COUNT && total(alike) < HOUR_EXPLORATION_RATE * 1.2 * CASE_COUNT, `${alike}`);
  assert.ok(alike.filter(isOften).length >= 3, `${alike}`);
  const worse = drawnBy(withHours((hour) => (hour === 16 ? -0.15 : 0), 0.01));
  assert.ok(worse[4]! < 0.4 * Math.min(...worse.filter((_, slot) => slot !== 4 && isOften(alike[slot]!))), `${worse}`);
  const facts = drawnBy(withHours((hour) => (hour === 12 ? 0.2 : 0), 1e-4));
  assert.equal(total(facts.filter((_, slot) => slot !== 3)), 0, `${facts}`);
});

test("the recorded propensity is the frequency of each time, and sums to one over all times", () => {
  const window = { windowEndsAt: START + 14 * DAY + 5 * HOUR };
  for (const [model, reason, retryCount] of [
    [newLearnedModel(), "FUNDS", 0],
    [trainedModel, "GENERIC", 0],
    [newLearnedModel(), "ISSUER_DOWN", 0],
    [trainedModel, "FUNDS", 1],
    [newLearnedModel(), "LIMIT", 2],
  ] as const) {
    const stats = new Map<number, { times: number; propensity: number }>();
    for (const { at, propensity } of chooseRetries(model, { ...posteriorOf(reason), retryCount }, window).map(
      (each) => each!,
    )) {
      const one = stats.get(at) ?? { times: 0, propensity };
      assert.ok(Math.abs(one.propensity - propensity) < 1e-12, "it is the moment's, whatever was drawn");
      stats.set(at, { ...one, times: one.times + 1 });
    }
    let sum = 0;
    for (const { times, propensity } of stats.values()) {
      sum += propensity;
      const luck = 4.5 * Math.sqrt((propensity * (1 - propensity)) / CASE_COUNT) + 1 / CASE_COUNT;
      assert.ok(Math.abs(times / CASE_COUNT - propensity) < luck, `${reason}: ${times} times, ${propensity}`);
    }
    assert.ok(sum < 1 + 1e-9 && sum > 0.995, `${reason}: ${sum}`);
    assert.ok(stats.size >= 4, `${stats.size}`);
  }
});
