import assert from "node:assert/strict";
import { test } from "node:test";
import { buildPosterior, buildRetryContext, DAY, HOUR, START } from "./choose-retry.fixture.ts";
import { chooseRetry } from "./choose-retry.ts";
import {
  EARLY_MAX_LOSS,
  EARLY_MAX_RATE,
  EARLY_QUARTER_RATE_COUNT,
  EXPLORATION_MAX_LOSS_USD,
} from "./explore-first-retry.ts";
import { countFirstRetry, firstRetryCounts, newFirstRetryCounts } from "./learned/first-retry-counts.ts";
import { type LearnedModel, newLearnedModel } from "./learned/learned-model.ts";

const CASE_COUNT = 2000;

/** Chooses the first retries of many cases whose plan begins late, because nothing is expected to work in the first days. */
function chooseFirstRetries(
  model: LearnedModel,
  rest: Parameters<typeof buildRetryContext>[0] = {},
  caseCount = CASE_COUNT,
) {
  const late = buildPosterior("GENERIC");
  late.shares.fill(0);
  // A hold that ends after eight days.
  const hold = late.holdsEnd.findIndex((end) => end > START + 8 * DAY);
  late.shares[late.shares.length - 1 - late.holdsEnd.length + hold] = 1;
  return Array.from({ length: caseCount }, (_, n) => {
    const retryContext = buildRetryContext({ key: `case ${n}`, windowEndsAt: START + 14 * DAY, ...rest });
    const { weighedPlan, ...chosen } = chooseRetry(model, late, retryContext)!;
    // Without its plan: thousands of plans would keep the garbage collector busy.
    return { ...chosen, plannedAt: weighedPlan.forecast.slots[weighedPlan.plan.slots[0]!]! };
  });
}
let untaught: ReturnType<typeof chooseFirstRetries> | undefined;
const untaughtRetries = () => {
  untaught ??= chooseFirstRetries(newLearnedModel());
  return untaught;
};
const earlyOf = (retries: ReturnType<typeof chooseFirstRetries>) => retries.filter(({ at }) => at < START + 6 * DAY);

test("a tenth of late first retries is moved earlier when none were early, and fewer the more there were", () => {
  const model = newLearnedModel();
  const [plain] = chooseFirstRetries({ ...model, firsts: newFirstRetryCounts().fill(1e9) }, {}, 1);
  assert.ok(plain!.at > START + 8 * DAY && !plain!.isSampled);

  const none = earlyOf(untaughtRetries());
  assert.ok(Math.abs(none.length / CASE_COUNT - EARLY_MAX_RATE - 0.015) < 0.02, `${none.length}`);
  assert.ok(none.some(({ at }) => at < START + 1.5 * DAY) && none.some(({ at }) => at > START + 4 * DAY));
  assert.ok(
    none.every(({ isSampled, nextTimes }) => isSampled && nextTimes.length > 0),
    "the plan's other tries follow",
  );

  const counts = newFirstRetryCounts().fill(1e9);
  const row = firstRetryCounts({ ...model, firsts: counts }, { reason: "GENERIC" });
  row[3] = 3 * EARLY_QUARTER_RATE_COUNT;
  const fewer = earlyOf(chooseFirstRetries({ ...model, firsts: counts }));
  const there = fewer.filter(({ at }) => at >= START + 1.5 * DAY && at < START + 2.5 * DAY);
  assert.ok(Math.abs(there.length / CASE_COUNT - 1 / 16) < 0.015, `${there.length}`);
  assert.ok(fewer.length - there.length < 0.03 * CASE_COUNT, "but for the few that are drawn among good moments");
});

test("no time counts as sampled when the plan's own time is the only good one, or is itself drawn", () => {
  const retries = chooseFirstRetries(newLearnedModel(), { windowEndsAt: START + 4 * HOUR }, 300);
  assert.equal(new Set(retries.map(({ at }) => at)).size, 1);
  assert.ok(retries.every(({ isSampled, propensity }) => !isSampled && propensity > 1 - 1e-9));
  for (const { at, isSampled, plannedAt } of untaughtRetries()) if (isSampled) assert.notEqual(at, plannedAt);
});

test("the recorded propensity is the frequency with which an earlier time is chosen", () => {
  const model = { ...newLearnedModel(), firsts: newFirstRetryCounts().fill(2 * EARLY_QUARTER_RATE_COUNT) };
  const byMoment = new Map<number, number[]>();
  for (const { at, propensity } of earlyOf(chooseFirstRetries(model)))
    byMoment.set(at, [...(byMoment.get(at) ?? []), propensity]);
  const often = [...byMoment.values()].filter(({ length }) => length > 0.01 * CASE_COUNT);
  assert.ok(often.length >= 4, `${often.length} moments`);
  for (const propensities of often) {
    const mean = propensities.reduce((sum, each) => sum + each, 0) / propensities.length;
    assert.ok(Math.abs(propensities.length / CASE_COUNT - mean) < 0.008, `${propensities.length} times, ${mean}`);
  }
});

test("no retry is moved earlier when it costs more than the exploration is worth", () => {
  const expensive = { valueAt: () => 1, cost: 3 * EARLY_MAX_LOSS };
  const retries = chooseFirstRetries(newLearnedModel(), { retryValue: expensive }, 300);
  assert.deepEqual(earlyOf(retries), []);
});

test("exploration costs no more for a large invoice than for a small one", () => {
  // A twentieth of 1000 has a standard error of 0.007.
  const caseCount = 1000;
  const sampledShare = (dollars: number) =>
    chooseFirstRetries(newLearnedModel(), { dollars }, caseCount).filter((each) => each.isSampled).length / caseCount;
  assert.ok(sampledShare(EXPLORATION_MAX_LOSS_USD / EARLY_MAX_LOSS) > 0.05);
  assert.ok(sampledShare(10_000) < 0.03, "but for those that cost next to nothing");
});

test("first retries are counted by class of reasons and time since the failure, and fade", () => {
  const model = newLearnedModel();
  for (let n = 0; n < 1000; n++) countFirstRetry(model, buildPosterior("FUNDS"), START + 5 * DAY);
  countFirstRetry(model, buildPosterior("FUNDS"), START + HOUR);
  const counts = firstRetryCounts(model, { reason: "FUNDS" });
  assert.equal(counts[0], 1);
  assert.ok(counts[5]! > 800 && counts[5]! < 900, `${counts[5]}`);
  assert.equal(firstRetryCounts(model, { reason: "GENERIC" })[5], 0);
});
