import assert from "node:assert/strict";
import { test } from "node:test";
import { compareAlternatives } from "./alternatives.ts";
import {
  buildPosterior,
  buildRetryContext,
  DAY,
  HOUR,
  ISSUER_ROW,
  START,
  trainedModel,
} from "./choose-retry.fixture.ts";
import {
  chooseRetry,
  NOT_WORTH_RETRYING_HALF_COUNT,
  NOT_WORTH_RETRYING_RATE,
  type RetryContext,
} from "./choose-retry.ts";
import { EXPLORATION_MAX_LOSS, EXPLORATION_RATE } from "./explore-first-retry.ts";
import { HOUR_EXPLORATION_RATE } from "./hour-slots.ts";
import { calibrate, calibrationIndex, learnCalibration } from "./learned/calibrate.ts";
import { type LearnedModel, newLearnedModel } from "./learned/learned-model.ts";
import { dayPartColumn } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { valuesByNextSlot } from "./plan-retries.ts";
import { keepsLimit } from "./rules/plan-limits.ts";
import { uniformHash } from "./uniform-hash.ts";

/** A model that has seen this many retries after the code of `posterior`. */
function buildExperiencedModel(retryCount: number): LearnedModel {
  const seen = trainedModel.seen.slice();
  seen[0] = retryCount;
  return { ...trainedModel, seen };
}

/** Names cases whose first retry is sampled. Trying all cases would plan 97 in 100 for nothing. */
const sampledKeys = (count: number) =>
  Array.from({ length: 100 * count }, (_, n) => `case-${n}`)
    .filter((key) => uniformHash(`${key}:lot`) < EXPLORATION_RATE)
    .slice(0, count);

test("the chosen time is allowed, within the window, not at once, and the same when chosen again", () => {
  for (const reason of ["FUNDS", "GENERIC", "UNKNOWN", "LIMIT", "ISSUER_DOWN", "EXPIRED"] as const) {
    for (const days of [1, 7, 14, 28, 60]) {
      const allow = (at: number) => new Date(at).getUTCDay() !== 3;
      const retryContext = buildRetryContext({ key: `${reason}${days}`, windowEndsAt: START + days * DAY, allow });
      const chosen = chooseRetry(trainedModel, buildPosterior(reason), retryContext);
      const again = chooseRetry(trainedModel, buildPosterior(reason), retryContext);
      assert.deepEqual({ ...again, weighedPlan: null }, { ...chosen, weighedPlan: null });
      if (!chosen) continue;
      const soonest = START + (reason === "EXPIRED" ? 20 : 2) * HOUR;
      assert.ok(chosen.at >= soonest && chosen.at < retryContext.windowEndsAt && allow(chosen.at));
      assert.ok(chosen.chance > 0 && chosen.chance < 1 && chosen.weighedPlan.plan.expectedValue > 0);
      assert.ok(chosen.nextTimes.every((at) => at > chosen.at));
    }
  }
});

test("a retry follows within three days when the bank was down, and never when the card is gone", () => {
  assert.ok(
    chooseRetry(trainedModel, buildPosterior("ISSUER_DOWN"), buildRetryContext({ key: "outage" }))!.at <
      START + 3 * DAY,
  );
  const expensive = buildRetryContext({ retryValue: { valueAt: () => 1, cost: 0.05 } });
  assert.equal(chooseRetry(buildExperiencedModel(10_000), buildPosterior("REVOKED"), expensive), null);
});

test("fewer retries are planned when retries often succeed, and fewer still for a small invoice, because each must bring more", () => {
  const planned = (usual: number, dollars = 24) => {
    const { nextTimes } = chooseRetry(
      { ...trainedModel, tries: Float64Array.of(usual, 1000) },
      buildPosterior("FUNDS"),
      buildRetryContext({ retriesLeft: 20, dollars }),
    )!;
    return nextTimes.length;
  };
  assert.ok(planned(0.6) < planned(0), `${planned(0.6)} and ${planned(0)}`);
  const [small, large, least] = [planned(0.6, 15), planned(0.6, 400), planned(0.6, 1)];
  assert.ok(small < large && large <= planned(0), `${small}, ${large} and ${planned(0)}`);
  assert.ok(least > 0, "the smallest bills are tried too");
  assert.ok(planned(0.6, 1e6) < planned(0), "of the largest bill, too, a part is asked");
});

test("no time is chosen when none is allowed, no retry is left, or the window is over", () => {
  assert.equal(chooseRetry(trainedModel, buildPosterior("FUNDS"), buildRetryContext({ allow: () => false })), null);
  assert.equal(chooseRetry(trainedModel, buildPosterior("FUNDS"), buildRetryContext({ retriesLeft: 0 })), null);
  assert.equal(
    chooseRetry(trainedModel, buildPosterior("FUNDS"), buildRetryContext({ windowEndsAt: START + HOUR })),
    null,
  );
});

test("about three in a hundred first retries are sampled, with their propensity recorded", () => {
  // The share of 1500 has a standard error of 0.0044.
  const caseCount = 1500;
  let sampledCount = 0;
  for (let n = 0; n < caseCount; n++) {
    const chosen = chooseRetry(
      trainedModel,
      buildPosterior("FUNDS"),
      buildRetryContext({ key: `case-${n}`, windowEndsAt: START + 3 * DAY }),
    )!;
    if (!chosen.isSampled) {
      const least = 1 - EXPLORATION_RATE - HOUR_EXPLORATION_RATE;
      assert.ok(chosen.isHourSampled || chosen.propensity > least, `${chosen.propensity}`);
      continue;
    }
    sampledCount++;
    assert.ok(chosen.propensity > 0 && chosen.propensity < EXPLORATION_RATE + HOUR_EXPLORATION_RATE);
  }
  assert.ok(Math.abs(sampledCount / caseCount - EXPLORATION_RATE) < 0.012, `${sampledCount}`);
  const second = buildPosterior("FUNDS");
  second.retryCount = 1;
  for (const key of sampledKeys(100))
    assert.equal(chooseRetry(trainedModel, second, buildRetryContext({ key }))!.isSampled, false);
});

test("a sampled time costs the plan little, whatever the probability of success", () => {
  let elsewhere = 0;
  for (const reason of ["FUNDS", "GENERIC", "ISSUER_DOWN"] as const) {
    for (const key of sampledKeys(60)) {
      const { at, isSampled, propensity, weighedPlan } = chooseRetry(
        trainedModel,
        buildPosterior(reason),
        buildRetryContext({ key }),
      )!;
      if (!isSampled) continue;
      const { forecast, plan, retryValue } = weighedPlan;
      const slot = forecast.slots.indexOf(at);
      if (slot === plan.slots[0]) continue;
      elsewhere++;
      const worth = valuesByNextSlot(forecast, plan, retryValue)[plan.picked.indexOf(slot)]!;
      assert.ok(
        worth >= (1 - EXPLORATION_MAX_LOSS) * plan.expectedValue && worth <= plan.expectedValue + 1e-9,
        `${reason} ${worth} of ${plan.expectedValue}`,
      );
      assert.ok(propensity < EXPLORATION_RATE + HOUR_EXPLORATION_RATE, `${propensity}`);
    }
  }
  assert.ok(elsewhere > 60, `${elsewhere}`);
});

test("one in twenty cases not worth retrying is retried, more after a rare code, and its propensity is recorded", () => {
  // A half of 1500 has a standard error of 0.013, and a twentieth one of 0.006. Short windows have quick plans.
  for (const [seen, share, caseCount] of [
    [0, 1, 200],
    [NOT_WORTH_RETRYING_HALF_COUNT, 0.5, 1500],
    [10_000, NOT_WORTH_RETRYING_RATE, 1500],
  ] as const) {
    const model = buildExperiencedModel(seen);
    let tried = 0;
    for (let n = 0; n < caseCount; n++) {
      const retryValue = { valueAt: () => 1, cost: 0.1 };
      const expensive = buildRetryContext({ key: `case-${n}`, retryValue, windowEndsAt: START + 7 * DAY });
      const chosen = chooseRetry(model, buildPosterior("REVOKED"), expensive);
      if (!chosen) continue;
      tried++;
      assert.ok(chosen.isNotWorthRetrying && chosen.propensity <= share && chosen.weighedPlan.plan.expectedValue > 0);
      const least = share * (1 - EXPLORATION_RATE - HOUR_EXPLORATION_RATE);
      if (!chosen.isSampled && !chosen.isHourSampled) assert.ok(chosen.propensity >= least, `${chosen.propensity}`);
    }
    assert.ok(Math.abs(tried / caseCount - share) < 0.03, `${tried} of ${share}`);
  }
  const dearest = buildRetryContext({ retryValue: { valueAt: () => 1, cost: 0.2 } });
  assert.equal(chooseRetry(buildExperiencedModel(0), buildPosterior("REVOKED"), dearest), null, "a dear try");
});

test("the plan's next time is chosen for certain without exploration, and cases not worth retrying are retried until enough were seen", () => {
  // With exploration, it would move many first retries earlier. A fifth of all would be at another hour.
  const untaught = newLearnedModel();
  for (const reason of ["FUNDS", "GENERIC", "ISSUER_DOWN"] as const)
    for (let n = 0; n < 100; n++) {
      const chosen = chooseRetry(
        untaught,
        buildPosterior(reason),
        buildRetryContext({ key: `case-${n}`, explores: false }),
      )!;
      const { forecast, plan } = chosen.weighedPlan;
      assert.deepEqual([chosen.isSampled, chosen.isHourSampled, chosen.propensity], [false, false, 1]);
      assert.equal(chosen.at, forecast.slots[plan.slots[0]!]);
    }
  for (let n = 0; n < 100; n++) {
    const expensive = buildRetryContext({
      key: `case-${n}`,
      explores: false,
      retryValue: { valueAt: () => 1, cost: 0.1 },
    });
    const tried = [0, NOT_WORTH_RETRYING_HALF_COUNT - 1, NOT_WORTH_RETRYING_HALF_COUNT].map((seen) =>
      chooseRetry(buildExperiencedModel(seen), buildPosterior("REVOKED"), expensive),
    );
    assert.deepEqual(
      tried.map((chosen) => chosen && [chosen.isNotWorthRetrying, chosen.propensity]),
      [[true, 1], [true, 1], null],
    );
  }
});

test("cards of an issuer that approves more at one hour are retried at that hour", () => {
  const trusting = { ...newLearnedModel() };
  const posterior = buildPosterior("GENERIC");
  trusting.mean[ISSUER_ROW + dayPartColumn(5)] = 1;
  const hours = (model: LearnedModel) =>
    Array.from({ length: 100 }, (_, n) => {
      const chosen = chooseRetry(model, buildPosterior("GENERIC"), buildRetryContext({ key: `case ${n}` }))!;
      return chosen.isSampled || chosen.isHourSampled
        ? null
        : new Date(chosen.at + posterior.clock.offsetMs).getUTCHours();
    }).filter((hour) => hour !== null);
  assert.deepEqual(new Set(hours(trusting)), new Set([5]));
  assert.ok(!hours(trainedModel).includes(5));
});

test("the probability of a time is the same for the choice, its day and its hour", () => {
  const corrected = { ...trainedModel, trim: trainedModel.trim.slice() };
  for (const reason of ["FUNDS", "GENERIC", "LIMIT"] as const)
    for (let n = 0; n < 50; n++) learnCalibration(corrected, calibrationIndex({ reason, retryCount: 1 }), 0.3, true);
  for (const reason of ["FUNDS", "GENERIC", "LIMIT"] as const)
    for (let n = 0; n < 20; n++) {
      const retryContext = buildRetryContext({ key: `case ${n}`, windowEndsAt: START + (14 + n) * DAY });
      // The outcomes of later retries correct a later retry.
      const posterior = { ...buildPosterior(reason), retryCount: n % 2 };
      const chosen = chooseRetry(corrected, posterior, retryContext)!;
      const prediction = calibrate(corrected, calibrationIndex(posterior), chanceOf(corrected, posterior, chosen.at));
      assert.equal(chosen.chance, prediction);
      const { days, hours } = compareAlternatives(corrected, posterior, retryContext, chosen, START);
      assert.ok([...days, ...hours].some(({ at }) => at.getTime() === chosen.at));
      for (const { at, chance } of [...days, ...hours]) {
        const alone = calibrate(corrected, calibrationIndex(posterior), chanceOf(corrected, posterior, at.getTime()));
        assert.ok(Math.abs(chance - alone) < 1e-4, `${chance} and ${alone}`);
      }
    }
});

test("the displayed plan begins with the chosen time, sampled or not, and continues as announced", () => {
  let sampledCount = 0;
  for (let n = 0; n < 60; n++) {
    const retryContext = buildRetryContext({ key: `case-${n}`, retriesLeft: 4 + (n % 3) });
    const chosen = chooseRetry(trainedModel, buildPosterior("FUNDS"), retryContext)!;
    const { even } = compareAlternatives(trainedModel, buildPosterior("FUNDS"), retryContext, chosen, START);
    assert.deepEqual(even!.plan.map(Number), [chosen.at, ...chosen.nextTimes]);
    assert.equal(even!.tries.length, retryContext.retriesLeft);
    if (chosen.isHourSampled) sampledCount++;
  }
  assert.ok(sampledCount > 3, `${sampledCount}`);
});

test("fewer than six evenly spaced retries are also spread over the whole window", () => {
  const evenDays = (retryContext: RetryContext, retryCount = 0) => {
    const posterior = { ...buildPosterior("FUNDS"), retryCount };
    const { even } = compareAlternatives(
      trainedModel,
      posterior,
      retryContext,
      chooseRetry(trainedModel, posterior, retryContext)!,
      START,
    );
    return even!.tries.map((at) => (at.getTime() - START) / DAY);
  };
  const near = (days: readonly number[], wanted: readonly number[]) => {
    assert.equal(days.length, wanted.length);
    for (const [n, day] of days.entries()) assert.ok(Math.abs(day - wanted[n]!) <= 0.5, `${days}, not ${wanted}`);
  };
  near(evenDays(buildRetryContext({ retriesLeft: 2 })), [14, 28]);
  near(evenDays(buildRetryContext({ retriesLeft: 1 }), 2), [28 / 3, 56 / 3, 28].slice(0, 1));
});

test("a displayed plan keeps the limits, even when its next retry was sampled or none is worthwhile", () => {
  let sampledCount = 0;
  let hopeless = 0;
  for (let n = 0; n < 400; n++) {
    const posterior = buildPosterior(n % 4 === 0 ? "HARD_CARD" : "FUNDS");
    const limit = { times: [START], attemptsMax: 2 + (n % 2), windowMs: (6 + (n % 9)) * DAY };
    const retryValue = { valueAt: () => 1, cost: n % 4 === 0 ? 0.19 : 0.008 };
    const retryContext = buildRetryContext({ key: `case-${n}`, limits: [limit], retryValue });
    const chosen = chooseRetry(buildExperiencedModel(0), posterior, retryContext);
    if (!chosen) continue;
    if (chosen.isSampled || chosen.isHourSampled) sampledCount++;
    if (chosen.isNotWorthRetrying) hopeless++;
    const { even } = compareAlternatives(trainedModel, posterior, retryContext, chosen, START);
    for (const plan of [[chosen.at, ...chosen.nextTimes], even!.plan.map(Number), even!.tries.map(Number)])
      for (const [k, at] of plan.entries())
        assert.ok(keepsLimit(limit, plan.slice(0, k), at), `${n}: ${plan.map((each) => (each - START) / DAY)}`);
  }
  assert.ok(sampledCount > 50 && hopeless > 50, `${sampledCount}, ${hopeless}`);
});

test("a sampled hour never ends a case", () => {
  // With a cost higher by 0.01, no case would be retried.
  for (let n = 0; n < 1000; n++) {
    const retryContext = buildRetryContext({ key: `case-${n}`, retryValue: { valueAt: () => 1, cost: 0.39 } });
    assert.equal(chooseRetry(trainedModel, buildPosterior("FUNDS"), retryContext)!.isNotWorthRetrying, false);
  }
});

test("after a decline a ninth of the window passes, at most a day; two hours after a limit or a fault of the bank", () => {
  for (const [reason, windowHours, waitHours] of [
    ["FUNDS", 7 * 24, (7 * 24) / 9],
    ["GENERIC", 28 * 24, 24],
    ["UNKNOWN", 12, 2],
    ["LIMIT", 28 * 24, 2],
    ["ISSUER_DOWN", 28 * 24, 2],
    ["EXPIRED", 28 * 24, 20],
  ] as const) {
    const retryContext = buildRetryContext({ windowEndsAt: START + windowHours * HOUR });
    const [first] = chooseRetry(newLearnedModel(), buildPosterior(reason), retryContext)!.weighedPlan.forecast.slots;
    const waited = (first! - START) / HOUR;
    assert.ok(waited >= waitHours && waited < waitHours + 12, `${reason}, ${windowHours} hours: ${waited}`);
  }
});
