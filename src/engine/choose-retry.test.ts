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

/** A model that has seen this many retries after the code of `belief`. */
function buildExperiencedModel(tries: number): LearnedModel {
  const seen = trainedModel.seen.slice();
  seen[0] = tries;
  return { ...trainedModel, seen };
}
test("the chosen time is allowed, within the window, not at once, and the same when chosen again", () => {
  for (const reason of ["FUNDS", "GENERIC", "UNKNOWN", "LIMIT", "ISSUER_DOWN", "EXPIRED"] as const) {
    for (const days of [1, 7, 14, 28, 60]) {
      const allow = (at: number) => new Date(at).getUTCDay() !== 3;
      const asked = buildRetryContext({ key: `${reason}${days}`, windowEndsAt: START + days * DAY, allow });
      const chosen = chooseRetry(trainedModel, buildPosterior(reason), asked);
      const again = chooseRetry(trainedModel, buildPosterior(reason), asked);
      assert.deepEqual({ ...again, weighed: null }, { ...chosen, weighed: null });
      if (!chosen) continue;
      const soonest = START + (reason === "EXPIRED" ? 20 : 2) * HOUR;
      assert.ok(chosen.at >= soonest && chosen.at < asked.windowEndsAt && allow(chosen.at));
      assert.ok(chosen.chance > 0 && chosen.chance < 1 && chosen.weighed.plan.worth > 0);
      assert.ok(chosen.next.every((at) => at > chosen.at));
    }
  }
});

test("a retry follows within three days when the bank was down, and never when the card is gone", () => {
  assert.ok(
    chooseRetry(trainedModel, buildPosterior("ISSUER_DOWN"), buildRetryContext({ key: "outage" }))!.at <
      START + 3 * DAY,
  );
  const dear = buildRetryContext({ stakes: { worthAt: () => 1, cost: 0.05 } });
  assert.equal(chooseRetry(buildExperiencedModel(10_000), buildPosterior("REVOKED"), dear), null);
});

test("fewer retries are planned when retries often succeed, and fewer still for a small invoice, because each must bring more", () => {
  const planned = (usual: number, dollars = 24) => {
    const { next } = chooseRetry(
      { ...trainedModel, tries: Float64Array.of(usual, 1000) },
      buildPosterior("FUNDS"),
      buildRetryContext({ triesLeft: 20, dollars }),
    )!;
    return next.length;
  };
  assert.ok(planned(0.6) < planned(0), `${planned(0.6)} and ${planned(0)}`);
  const [small, large, least] = [planned(0.6, 15), planned(0.6, 400), planned(0.6, 1)];
  assert.ok(small < large && large <= planned(0), `${small}, ${large} and ${planned(0)}`);
  assert.ok(least > 0, "the smallest bills are tried too");
  assert.ok(planned(0.6, 1e6) < planned(0), "of the largest bill, too, a part is asked");
});

test("no time is chosen when none is allowed, no retry is left, or the window is over", () => {
  assert.equal(chooseRetry(trainedModel, buildPosterior("FUNDS"), buildRetryContext({ allow: () => false })), null);
  assert.equal(chooseRetry(trainedModel, buildPosterior("FUNDS"), buildRetryContext({ triesLeft: 0 })), null);
  assert.equal(
    chooseRetry(trainedModel, buildPosterior("FUNDS"), buildRetryContext({ windowEndsAt: START + HOUR })),
    null,
  );
});

test("about three in a hundred first retries are sampled, with their propensity recorded", () => {
  let drawn = 0;
  for (let n = 0; n < 3000; n++) {
    const chosen = chooseRetry(
      trainedModel,
      buildPosterior("FUNDS"),
      buildRetryContext({ key: `case-${n}`, windowEndsAt: START + 3 * DAY }),
    )!;
    if (!chosen.drawn) {
      const least = 1 - EXPLORATION_RATE - HOUR_EXPLORATION_RATE;
      assert.ok(chosen.hourDrawn || chosen.propensity > least, `${chosen.propensity}`);
      continue;
    }
    drawn++;
    assert.ok(chosen.propensity > 0 && chosen.propensity < EXPLORATION_RATE + HOUR_EXPLORATION_RATE);
  }
  assert.ok(Math.abs(drawn / 3000 - EXPLORATION_RATE) < 0.012, `${drawn}`);
  const second = buildPosterior("FUNDS");
  second.tries = 1;
  for (let n = 0; n < 300; n++)
    assert.equal(chooseRetry(trainedModel, second, buildRetryContext({ key: `case-${n}` }))!.drawn, false);
});

test("a sampled time costs the plan little, whatever the probability of success", () => {
  let elsewhere = 0;
  for (const reason of ["FUNDS", "GENERIC", "ISSUER_DOWN"] as const) {
    for (let n = 0; n < 2000; n++) {
      const { at, drawn, propensity, weighed } = chooseRetry(
        trainedModel,
        buildPosterior(reason),
        buildRetryContext({ key: `case-${n}` }),
      )!;
      if (!drawn) continue;
      const { forecast, plan, stakes } = weighed;
      const slot = forecast.slots.indexOf(at);
      if (slot === plan.slots[0]) continue;
      elsewhere++;
      const worth = valuesByNextSlot(forecast, plan, stakes)[plan.picked.indexOf(slot)]!;
      assert.ok(
        worth >= (1 - EXPLORATION_MAX_LOSS) * plan.worth && worth <= plan.worth + 1e-9,
        `${reason} ${worth} of ${plan.worth}`,
      );
      assert.ok(propensity < EXPLORATION_RATE + HOUR_EXPLORATION_RATE, `${propensity}`);
    }
  }
  assert.ok(elsewhere > 60, `${elsewhere}`);
});

test("one in twenty cases not worth retrying is retried, more after a rare code, and its propensity is recorded", () => {
  for (const [seen, share] of [
    [0, 1],
    [NOT_WORTH_RETRYING_HALF_COUNT, 0.5],
    [10_000, NOT_WORTH_RETRYING_RATE],
  ] as const) {
    const model = buildExperiencedModel(seen);
    let tried = 0;
    for (let n = 0; n < 2000; n++) {
      const dear = buildRetryContext({ key: `case-${n}`, stakes: { worthAt: () => 1, cost: 0.1 } });
      const chosen = chooseRetry(model, buildPosterior("REVOKED"), dear);
      if (!chosen) continue;
      tried++;
      assert.ok(chosen.hopeless && chosen.propensity <= share && chosen.weighed.plan.worth > 0);
      const least = share * (1 - EXPLORATION_RATE - HOUR_EXPLORATION_RATE);
      if (!chosen.drawn && !chosen.hourDrawn) assert.ok(chosen.propensity >= least, `${chosen.propensity}`);
    }
    assert.ok(Math.abs(tried / 2000 - share) < 0.03, `${tried} of ${share}`);
  }
  const dearest = buildRetryContext({ stakes: { worthAt: () => 1, cost: 0.2 } });
  assert.equal(chooseRetry(buildExperiencedModel(0), buildPosterior("REVOKED"), dearest), null, "a dear try");
});

test("the plan's next time is chosen for certain without exploration, and cases not worth retrying are retried until enough were seen", () => {
  for (const reason of ["FUNDS", "GENERIC", "ISSUER_DOWN"] as const)
    for (let n = 0; n < 300; n++) {
      // A model that has seen no first retries would move many of them earlier.
      const chosen = chooseRetry(
        newLearnedModel(),
        buildPosterior(reason),
        buildRetryContext({ key: `case-${n}`, explores: false }),
      )!;
      const { forecast, plan } = chosen.weighed;
      assert.deepEqual([chosen.drawn, chosen.hourDrawn, chosen.propensity], [false, false, 1]);
      assert.equal(chosen.at, forecast.slots[plan.slots[0]!]);
    }
  for (let n = 0; n < 300; n++) {
    const dear = buildRetryContext({ key: `case-${n}`, explores: false, stakes: { worthAt: () => 1, cost: 0.1 } });
    const tried = [0, NOT_WORTH_RETRYING_HALF_COUNT - 1, NOT_WORTH_RETRYING_HALF_COUNT].map((seen) =>
      chooseRetry(buildExperiencedModel(seen), buildPosterior("REVOKED"), dear),
    );
    assert.deepEqual(
      tried.map((chosen) => chosen && [chosen.hopeless, chosen.propensity]),
      [[true, 1], [true, 1], null],
    );
  }
});

test("cards of an issuer that approves more at one hour are retried at that hour", () => {
  const trusting = { ...newLearnedModel() };
  const of = buildPosterior("GENERIC");
  trusting.mean[ISSUER_ROW + dayPartColumn(5)] = 1;
  const hours = (model: LearnedModel) =>
    Array.from({ length: 100 }, (_, n) => {
      const chosen = chooseRetry(model, buildPosterior("GENERIC"), buildRetryContext({ key: `case ${n}` }))!;
      return chosen.drawn || chosen.hourDrawn ? null : new Date(chosen.at + of.clock.offsetMs).getUTCHours();
    }).filter((hour) => hour !== null);
  assert.deepEqual(new Set(hours(trusting)), new Set([5]));
  assert.ok(!hours(trainedModel).includes(5));
});

test("the probability of a time is the same for the choice, its day and its hour", () => {
  const corrected = { ...trainedModel, trim: trainedModel.trim.slice() };
  for (const reason of ["FUNDS", "GENERIC", "LIMIT"] as const)
    for (let n = 0; n < 50; n++) learnCalibration(corrected, calibrationIndex({ reason, tries: 1 }), 0.3, true);
  for (const reason of ["FUNDS", "GENERIC", "LIMIT"] as const)
    for (let n = 0; n < 20; n++) {
      const asked = buildRetryContext({ key: `case ${n}`, windowEndsAt: START + (14 + n) * DAY });
      // The outcomes of later retries correct a later retry.
      const kase = { ...buildPosterior(reason), tries: n % 2 };
      const chosen = chooseRetry(corrected, kase, asked)!;
      const said = calibrate(corrected, calibrationIndex(kase), chanceOf(corrected, kase, chosen.at));
      assert.equal(chosen.chance, said);
      const { days, hours } = compareAlternatives(corrected, kase, asked, chosen, START, START);
      assert.ok([...days, ...hours].some(({ at }) => at.getTime() === chosen.at));
      for (const { at, chance } of [...days, ...hours]) {
        const alone = calibrate(corrected, calibrationIndex(kase), chanceOf(corrected, kase, at.getTime()));
        assert.ok(Math.abs(chance - alone) < 1e-4, `${chance} and ${alone}`);
      }
    }
});

test("the displayed plan begins with the chosen time, sampled or not, and continues as announced", () => {
  let drawn = 0;
  for (let n = 0; n < 60; n++) {
    const asked = buildRetryContext({ key: `case-${n}`, triesLeft: 4 + (n % 3) });
    const chosen = chooseRetry(trainedModel, buildPosterior("FUNDS"), asked)!;
    const { even } = compareAlternatives(trainedModel, buildPosterior("FUNDS"), asked, chosen, START, START);
    assert.deepEqual(even!.plan.map(Number), [chosen.at, ...chosen.next]);
    assert.equal(even!.tries.length, asked.triesLeft);
    if (chosen.hourDrawn) drawn++;
  }
  assert.ok(drawn > 3, `${drawn}`);
});

test("fewer than six evenly spaced retries are also spread over the whole window", () => {
  const evenDays = (asked: RetryContext, tries = 0) => {
    const kase = { ...buildPosterior("FUNDS"), tries };
    const { even } = compareAlternatives(
      trainedModel,
      kase,
      asked,
      chooseRetry(trainedModel, kase, asked)!,
      START,
      START,
    );
    return even!.tries.map((at) => (at.getTime() - START) / DAY);
  };
  const near = (days: readonly number[], wanted: readonly number[]) => {
    assert.equal(days.length, wanted.length);
    for (const [n, day] of days.entries()) assert.ok(Math.abs(day - wanted[n]!) <= 0.5, `${days}, not ${wanted}`);
  };
  near(evenDays(buildRetryContext({ triesLeft: 2 })), [14, 28]);
  near(evenDays(buildRetryContext({ triesLeft: 1 }), 2), [28 / 3, 56 / 3, 28].slice(0, 1));
});

test("a displayed plan keeps the limits, even when its next retry was sampled or none is worthwhile", () => {
  let drawn = 0;
  let hopeless = 0;
  for (let n = 0; n < 400; n++) {
    const kase = buildPosterior(n % 4 === 0 ? "HARD_CARD" : "FUNDS");
    const limit = { times: [START], attemptsMax: 2 + (n % 2), windowMs: (6 + (n % 9)) * DAY };
    const stakes = { worthAt: () => 1, cost: n % 4 === 0 ? 0.19 : 0.008 };
    const asked = buildRetryContext({ key: `case-${n}`, limits: [limit], stakes });
    const chosen = chooseRetry(buildExperiencedModel(0), kase, asked);
    if (!chosen) continue;
    if (chosen.drawn || chosen.hourDrawn) drawn++;
    if (chosen.hopeless) hopeless++;
    const { even } = compareAlternatives(trainedModel, kase, asked, chosen, START, START);
    for (const plan of [[chosen.at, ...chosen.next], even!.plan.map(Number), even!.tries.map(Number)])
      for (const [k, at] of plan.entries())
        assert.ok(keepsLimit(limit, plan.slice(0, k), at), `${n}: ${plan.map((each) => (each - START) / DAY)}`);
  }
  assert.ok(drawn > 50 && hopeless > 50, `${drawn}, ${hopeless}`);
});

test("a sampled hour never ends a case", () => {
  // With a cost higher by 0.01, no case would be retried.
  for (let n = 0; n < 1000; n++) {
    const asked = buildRetryContext({ key: `case-${n}`, stakes: { worthAt: () => 1, cost: 0.39 } });
    assert.equal(chooseRetry(trainedModel, buildPosterior("FUNDS"), asked)!.hopeless, false);
  }
});
