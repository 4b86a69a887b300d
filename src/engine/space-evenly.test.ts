import assert from "node:assert/strict";
import { test } from "node:test";
import { buildPosterior, buildRetryContext, DAY, HOUR, START, trainedModel } from "./choose-retry.fixture.ts";
import { chooseRetry } from "./choose-retry.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { WEIGHT_STARTS } from "./learned/model-layout.ts";
import { newShortfalls, recordPrediction, shortfallDeviations } from "./learned/shortfall.ts";
import { MAX_EVENLY_SPACED_RATE, SHORTFALL_FULL_DEVIATIONS, SHORTFALL_MIN_DEVIATIONS } from "./space-evenly.ts";

/** For frequencies. */
const CASE_COUNT = 2000;
/** Enough to see that a frequent choice is never made. */
const FEW_CASES = 400;

/** Returns a model that predicted this probability for each of these retries after missing money, none of which was approved. */
function buildShortfallModel(
  retryCount: number,
  predictedChance = 0.6,
  reason: "FUNDS" | "REVOKED" = "FUNDS",
): LearnedModel {
  const model = { ...trainedModel, shortfalls: newShortfalls() };
  for (let n = 0; n < retryCount; n++)
    recordPrediction(model, buildPosterior(reason), predictedChance, START - (retryCount - n) * HOUR, reason);
  return model;
}
const LARGE_SHORTFALL_MODEL = buildShortfallModel(120);

/** Chooses a retry for each of many cases that differ only in their ids, one at a time as they are asked for. */
function* eachChoice(
  model: LearnedModel,
  rest: Parameters<typeof buildRetryContext>[0] = {},
  posterior = buildPosterior("FUNDS"),
) {
  for (let n = 0; n < CASE_COUNT; n++) {
    const chosen = chooseRetry(model, posterior, buildRetryContext({ key: `case ${n}`, ...rest }));
    // Without its plan: thousands of plans would keep the garbage collector busy.
    yield chosen && { ...chosen, weighedPlan: null };
  }
}
/** The window is short, because shorter plans are quicker. */
const chooseRetries = (
  model: LearnedModel,
  rest: Parameters<typeof buildRetryContext>[0] = {},
  posterior = buildPosterior("FUNDS"),
) => eachChoice(model, { windowEndsAt: START + 14 * DAY, ...rest }, posterior).toArray();
const chooseSomeRetries = (...args: Parameters<typeof eachChoice>) =>
  eachChoice(...args)
    .take(FEW_CASES)
    .toArray();
const MEDIUM_SHORTFALL_CHOICES = chooseRetries(buildShortfallModel(60));
const LARGE_SHORTFALL_CHOICES = chooseRetries(LARGE_SHORTFALL_MODEL);
const isSpread = (chosen: { isEvenlySpaced: boolean } | null) => chosen?.isEvenlySpaced === true;

test("more retries are evenly spaced the further approvals fall short of predictions, and none when they do not", () => {
  const shares: number[] = [];
  for (const [retryCount, chosen] of [
    [0, chooseSomeRetries(buildShortfallModel(0))],
    [25, chooseRetries(buildShortfallModel(25))],
    [60, MEDIUM_SHORTFALL_CHOICES],
    [120, LARGE_SHORTFALL_CHOICES],
  ] as const) {
    const model = buildShortfallModel(retryCount);
    const deviations = shortfallDeviations(model, { firstReason: "FUNDS" }, START);
    const wanted =
      MAX_EVENLY_SPACED_RATE *
      Math.max(
        0,
        Math.min(1, (deviations - SHORTFALL_MIN_DEVIATIONS) / (SHORTFALL_FULL_DEVIATIONS - SHORTFALL_MIN_DEVIATIONS)),
      );
    const share = chosen.filter(isSpread).length / chosen.length;
    assert.ok(Math.abs(share - wanted) < 0.035, `${share}, not ${wanted}`);
    shares.push(share);
  }
  assert.equal(shares[0], 0);
  assert.ok(shares[2]! > 0.2 && shares[2]! < 0.6 && shares[3]! > 0.65, `${shares}`);
  assert.equal(
    chooseSomeRetries(LARGE_SHORTFALL_MODEL, {}, buildPosterior("GENERIC")).filter(isSpread).length,
    0,
    "another class of reasons",
  );
  const since = { ...buildPosterior("FUNDS"), reason: "GENERIC" as const };
  assert.ok(
    eachChoice(LARGE_SHORTFALL_MODEL, {}, since).some(isSpread),
    "the class is that of the reason that the case began with",
  );
});

const isNear = (at: number, wanted: number, within = DAY / 2) =>
  assert.ok(Math.abs(at - wanted) <= within, `${(at - START) / DAY}, not ${(wanted - START) / DAY}`);

test("the next of six evenly spaced retries comes after a sixth of the time left, the last shortly before the end, only when allowed", () => {
  const first = (rest: Parameters<typeof buildRetryContext>[0], of = buildPosterior("FUNDS")) =>
    eachChoice(LARGE_SHORTFALL_MODEL, rest, of).find(isSpread)!;
  isNear(first({}).at, START + (28 / 6) * DAY);
  isNear(first({ retriesLeft: 15 }).at, START + (28 / 6) * DAY);
  isNear(first({ retriesLeft: 2 }).at, START + 14 * DAY);
  isNear(first({ retriesLeft: 1, windowEndsAt: START + 28 * DAY }).at, START + 28 * DAY - HOUR, HOUR);
  const allow = (at: number) => at > START + 20 * DAY;
  isNear(first({ allow }).at, START + 20 * DAY);
  isNear(first({ windowEndsAt: START + DAY }).at, START + DAY / 2, 4 * HOUR);
});

test("earlier retries count among the six, and no even one follows after six", () => {
  const retryCount = (count: number) => ({ ...buildPosterior("FUNDS"), retryCount: count, lastTriedAt: START });
  isNear(eachChoice(LARGE_SHORTFALL_MODEL, { retriesLeft: 8 }, retryCount(4)).find(isSpread)!.at, START + 14 * DAY);
  assert.equal(chooseSomeRetries(LARGE_SHORTFALL_MODEL, { retriesLeft: 8 }, retryCount(6)).filter(isSpread).length, 0);
});

test("charges of other invoices delay no evenly spaced retry", () => {
  const later = eachChoice(LARGE_SHORTFALL_MODEL, { now: START + 3 * DAY }).find(isSpread)!;
  isNear(later.at, START + (28 / 6) * DAY);
  isNear(eachChoice(LARGE_SHORTFALL_MODEL, { now: START + 9 * DAY }).find(isSpread)!.at, START + 9 * DAY, DAY / 4);
});

test("the recorded propensity is the frequency with which a time is chosen, by plan or evenly", () => {
  const afterOneRetry = chooseRetries(buildShortfallModel(60), {}, { ...buildPosterior("FUNDS"), retryCount: 1 });
  assert.equal(buildPosterior("FUNDS").retryCount, 0);
  for (const choices of [MEDIUM_SHORTFALL_CHOICES, afterOneRetry]) {
    const chosen = choices.map((each) => each!);
    const byMoment = Map.groupBy(chosen, ({ at }) => at);
    for (const [, same] of byMoment) {
      const { propensity } = same[0]!;
      const luck = 4.5 * Math.sqrt((propensity * (1 - propensity)) / CASE_COUNT) + 1 / CASE_COUNT;
      assert.ok(Math.abs(same.length / CASE_COUNT - propensity) < luck, `${same.length} times, ${propensity}`);
    }
    const sum = [...byMoment.values()].reduce((all, [one]) => all + one!.propensity, 0);
    assert.ok(sum < 1 + 1e-9 && sum > 0.995, `${sum}`);
  }
});

test("an evenly spaced time gets the combined propensity when the plan's next retry is the same", () => {
  // Only one time is left.
  const only = { allow: (at: number) => at > START + 14 * DAY && at < START + 14.4 * DAY, triesLeft: 2 };
  const chosen = chooseSomeRetries(buildShortfallModel(60), only, { ...buildPosterior("FUNDS"), retryCount: 1 }).map(
    (each) => each!,
  );
  const even = chosen.find(isSpread)!;
  assert.equal(even.at, chosen.find(({ isEvenlySpaced, isHourSampled }) => !isEvenlySpaced && !isHourSampled)!.at);
  assert.ok(even.propensity > 0.8 && even.propensity < 1);
});

test("an evenly spaced retry counts neither as a sampled time nor as a sampled hour", () => {
  const spacedEvenly = LARGE_SHORTFALL_CHOICES.filter(isSpread);
  assert.ok(spacedEvenly.length > 0.6 * CASE_COUNT);
  assert.ok(spacedEvenly.every((one) => !one!.isSampled && !one!.isHourSampled));
});

test("a case not worth retrying also gets evenly spaced retries, unless they are expensive", () => {
  const model = buildShortfallModel(120, 0.6, "REVOKED");
  const seen = trainedModel.seen.slice();
  seen[buildPosterior("REVOKED").codeFeature - WEIGHT_STARTS.name] = 10_000;
  const hopeless = (cost: number, triesLeft = 6, choose = chooseSomeRetries) =>
    choose(
      { ...model, seen },
      { retriesLeft: triesLeft, retryValue: { valueAt: () => 1, cost } },
      buildPosterior("REVOKED"),
    ).filter((one) => one !== null);
  const cheap = hopeless(0.09, 2, chooseRetries);
  assert.ok(cheap.length > 0.65 * CASE_COUNT && cheap.every((one) => one.isNotWorthRetrying), `${cheap.length}`);
  assert.ok(Math.abs(cheap.filter(isSpread).length / CASE_COUNT - MAX_EVENLY_SPACED_RATE) < 0.035);
  const expensive = hopeless(0.09, 6);
  assert.ok(expensive.length > 0 && !expensive.some(isSpread), "one in twenty, as else");
  assert.equal(hopeless(0.2, 1).length, 0);
});
