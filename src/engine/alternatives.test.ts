import assert from "node:assert/strict";
import { test } from "node:test";
import { compareAlternatives, compareWithoutRetry, evenlySpacedCaveat, listPlanCaveats } from "./alternatives.ts";
import { buildPosterior, buildRetryContext, DAY, HOUR, START, trainedModel } from "./choose-retry.fixture.ts";
import { chooseRetry } from "./choose-retry.ts";
import { evaluateSets, findFollowingSlots, planRetries } from "./plan-retries.ts";

test("the plan has the same value in both comparisons, and evenly spaced retries beat it only when a time was sampled", () => {
  const kinds = new Map<string, number>();
  for (let n = 0; n < 200; n++) {
    const posterior = buildPosterior(n % 4 === 0 ? "HARD_CARD" : "FUNDS");
    const retryContext = buildRetryContext({
      key: `case-${n}`,
      dollars: 3 + n,
      retryValue: { valueAt: () => 1, cost: 0.003 + 0.12 / (3 + n) },
    });
    const chosen = chooseRetry(trainedModel, posterior, retryContext);
    if (!chosen) continue;
    const { days, even } = compareAlternatives(trainedModel, posterior, retryContext, chosen, START);
    const { tries, worth, planWorth } = even!;
    const day = days.find(({ at }) => +at === chosen.at);
    if (day) assert.ok(Math.abs(day.worth - planWorth) < 2e-4, `${day.worth} and ${planWorth}`);
    const kind = chosen.isNotWorthRetrying
      ? "hopeless"
      : chosen.isSampled || chosen.isHourSampled
        ? "drawn"
        : "planned";
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    if (kind === "planned") assert.ok(worth < planWorth + 0.005, `${n}: ${tries.length} ${worth} and ${planWorth}`);
  }
  assert.ok(["hopeless", "drawn", "planned"].every((kind) => kinds.has(kind)));
});

test("a plan with more retries than the even ones is also compared with equally many, after the same sampled time", () => {
  const counts = { planned: 0, drawn: 0, alike: 0 };
  for (let n = 0; n < 200; n++) {
    const posterior = buildPosterior(n % 3 === 0 ? "GENERIC" : "FUNDS");
    const retryContext = buildRetryContext({ key: `case-${n}`, retriesLeft: n % 4 === 0 ? 6 : 8, dollars: 400 });
    const chosen = chooseRetry(trainedModel, posterior, retryContext)!;
    const { tries, worth, recovers, plan, planWorth, planRecovers, asMany } = compareAlternatives(
      trainedModel,
      posterior,
      retryContext,
      chosen,
      START,
    ).even!;
    assert.equal(asMany !== null, plan.length > tries.length);
    if (asMany === null) {
      counts.alike++;
      continue;
    }
    const isDrawn = chosen.isSampled || chosen.isHourSampled;
    counts[isDrawn ? "drawn" : "planned"]++;
    assert.ok(asMany.worth <= planWorth + 0.001, `${n}: ${asMany.worth} and ${planWorth}`);
    assert.ok(asMany.recovers < planRecovers, `${n}: ${asMany.recovers} and ${planRecovers}`);
    if (!isDrawn) assert.ok(asMany.worth > worth - 0.005 && recovers > 0, `${n}: ${asMany.worth} and ${worth}`);
  }
  assert.ok(
    Object.values(counts).every((count) => count > 0),
    JSON.stringify(counts),
  );
});

test("evenly spaced retries closest to the same time count as one retry", () => {
  // Every two hours, although retries are evaluated every four.
  const retryContext = buildRetryContext({ windowEndsAt: START + DAY / 2, dollars: 400 });
  const posterior = buildPosterior("FUNDS");
  const { tries } = compareAlternatives(
    trainedModel,
    posterior,
    retryContext,
    chooseRetry(trainedModel, posterior, retryContext)!,
    START,
  ).even!;
  assert.deepEqual(
    tries.map((at) => (+at - START) / HOUR),
    [5, 9, 11.5],
  );
});

test("the hours of the chosen day are all that were allowed, each with the plan's value when it was compared", () => {
  const counts = { compared: 0, others: 0, last: 0 };
  for (let n = 0; n < 200; n++) {
    // Half of the windows end soon, so their last time is no whole slot.
    const retryContext = buildRetryContext({ key: `case-${n}`, windowEndsAt: START + (n % 2 === 0 ? 28 : 0.5) * DAY });
    const posterior = buildPosterior("FUNDS");
    const chosen = chooseRetry(trainedModel, posterior, retryContext)!;
    const { forecast, plan } = chosen.weighedPlan;
    const { hours, even } = compareAlternatives(trainedModel, posterior, retryContext, chosen, START);
    const comparedAt = plan.picked.map((slot) => forecast.slots[slot]!);
    for (const { at, worth } of hours) assert.equal(worth !== null, comparedAt.includes(+at));
    const itself = hours.find(({ at }) => +at === chosen.at)!;
    assert.ok(Math.abs(itself.chance - chosen.chance) < 1e-4);
    if (itself.worth !== null) assert.ok(Math.abs(itself.worth - even!.planWorth) < 2e-4);
    assert.deepEqual(
      hours.map(({ at }) => +at),
      hours.map(({ at }) => +at).sort((a, b) => a - b),
    );
    counts.compared += hours.filter(({ worth }) => worth !== null).length;
    counts.others += hours.filter(({ worth }) => worth === null).length;
    counts.last += Number(hours.some(({ at }) => +at === retryContext.windowEndsAt - HOUR / 2));
  }
  assert.ok(
    Object.values(counts).every((count) => count > 0),
    JSON.stringify(counts),
  );
});

test("a time is no alternative when it had passed before the decision", () => {
  const now = START + 9.2 * DAY;
  let late = 0;
  for (let n = 0; n < 100; n++) {
    const retryContext = buildRetryContext({ key: `case-${n}` });
    const posterior = buildPosterior("FUNDS");
    const chosen = chooseRetry(trainedModel, posterior, retryContext)!;
    const { days, hours } = compareAlternatives(trainedModel, posterior, retryContext, chosen, now);
    if (chosen.at < now) late++;
    for (const { at } of [...days, ...hours]) assert.ok(+at >= now || +at === chosen.at);
    assert.ok(hours.some(({ at }) => +at === chosen.at));
  }
  assert.ok(late > 0, "one that is made up for stays");
});

test("the plan limited to as many retries is the best of that size: without a sampled hour, after a sampled time, and at no cost when none is worthwhile", () => {
  const counts = { hourDrawn: 0, drawn: 0, hopeless: 0 };
  for (let n = 0; n < 400; n++) {
    const posterior = buildPosterior(n % 2 === 0 ? "HARD_CARD" : "FUNDS");
    const retryValue = n % 2 === 0 ? { valueAt: () => 1, cost: 0.1 } : buildRetryContext().retryValue;
    const retryContext = buildRetryContext({ key: `case-${n}`, retriesLeft: 8, dollars: 400, retryValue });
    const chosen = chooseRetry({ ...trainedModel, seen: trainedModel.seen.map(() => 0) }, posterior, retryContext);
    if (!chosen) continue;
    const { asMany, tries } = compareAlternatives(trainedModel, posterior, retryContext, chosen, START).even!;
    if (!asMany) continue;
    const { forecast, plan, slots: all, retryValue: margined } = chosen.weighedPlan;
    const isAside = !plan.picked.includes(all[0]!);
    const free = chosen.isNotWorthRetrying ? { ...margined, cost: 0 } : margined;
    const fewer = planRetries(forecast, tries.length, free, plan.limits, isAside ? all[0]! : -1);
    const isDrawn = chosen.isSampled || chosen.isHourSampled;
    const wanted = isDrawn ? [all[0]!, ...findFollowingSlots(forecast, fewer, all[0]!)] : [...fewer.slots];
    const [worth] = evaluateSets(forecast, [wanted], margined);
    assert.ok(Math.abs(asMany.worth - worth!.value) < 1e-4, `${n}: ${asMany.worth} and ${worth!.value}`);
    if (isAside) counts.hourDrawn++;
    if (chosen.isSampled) counts.drawn++;
    if (chosen.isNotWorthRetrying) counts.hopeless++;
  }
  assert.ok(
    Object.values(counts).every((count) => count > 3),
    JSON.stringify(counts),
  );
});

test("the best time is the remaining one whose retry alone has the highest value when no retry is worthwhile", () => {
  const retryValue = { valueAt: (at: number) => 1 - (0.004 * (at - START)) / DAY, cost: 0.7 };
  for (const now of [START, START + 9 * DAY]) {
    const retryContext = buildRetryContext({ retryValue });
    const { best, outlook } = compareWithoutRetry(trainedModel, buildPosterior("FUNDS"), retryContext, now)!;
    assert.ok(best.at >= now && best.at < retryContext.windowEndsAt);
    const worth = (chance: number, at: number) => chance * retryValue.valueAt(at);
    for (let key = 0; key < 20; key++) {
      const others = chooseRetry(
        trainedModel,
        buildPosterior("FUNDS"),
        buildRetryContext({ key: `case-${key}`, now, retryValue: { ...retryValue, cost: 0 } }),
      )!;
      const { forecast, plan } = others.weighedPlan;
      for (const slot of plan.picked)
        assert.ok(
          worth(forecast.chances[slot]!, forecast.slots[slot]!) <= worth(best.chance, best.at) + 1e-6,
          `${(forecast.slots[slot]! - START) / DAY} is better than ${(best.at - START) / DAY}`,
        );
    }
    assert.ok(best.chance < best.minChance && Math.abs(best.cost - 0.7) < 1e-9);
    assert.ok(outlook.even!.tries.every((at) => +at >= now) && outlook.even!.plan.length === 0);
  }
});

/** Returns the evenly spaced retries in days after START, each the evaluated time closest to its ideal. */
function evenlySpacedDaysOf(rest: Parameters<typeof buildRetryContext>[0] = {}, posterior = buildPosterior("FUNDS")) {
  const retryContext = buildRetryContext({ dollars: 400, ...rest });
  const { even } = compareAlternatives(
    trainedModel,
    posterior,
    retryContext,
    chooseRetry(trainedModel, posterior, retryContext)!,
    START,
  );
  return even!.tries.map((at) => (+at - START) / DAY);
}
const assertNear = (found: readonly number[], wanted: readonly number[]) => {
  assert.equal(found.length, wanted.length, `${found}`);
  for (const [n, day] of found.entries()) assert.ok(Math.abs(day - wanted[n]!) < 0.26, `${found}, not ${wanted}`);
};

test("there are six evenly spaced retries, or as many as are left, after equal parts of the window, the last one an hour before its end", () => {
  assertNear(
    evenlySpacedDaysOf(),
    [1, 2, 3, 4, 5, 6].map((n) => (28 * n) / 6),
  );
  assertNear(
    evenlySpacedDaysOf({ retriesLeft: 20 }),
    [1, 2, 3, 4, 5, 6].map((n) => (28 * n) / 6),
  );
  assertNear(evenlySpacedDaysOf({ retriesLeft: 2 }), [14, 28]);
  const last = (days: number) => evenlySpacedDaysOf({ windowEndsAt: START + days * DAY }).at(-1)! * 24;
  for (const days of [3, 0.5]) assert.ok(last(days) <= days * 24 - 0.5 && last(days) > days * 24 - 5, `${last(days)}`);
});

test("evenly spaced retries count from when the invoice became unpaid, without those that are past or not allowed", () => {
  const posterior = { ...buildPosterior("FUNDS"), retryCount: 1, lastTriedAt: START };
  assertNear(
    evenlySpacedDaysOf({ retriesLeft: 5, windowMs: 42 * DAY }, posterior),
    [3, 4, 5, 6].map((n) => -14 + 7 * n).filter((day) => day > 0.5),
  );
  assertNear(
    evenlySpacedDaysOf({ allow: (at) => at > START + 10 * DAY }),
    [3, 4, 5, 6].map((n) => (28 * n) / 6),
  );
});

test("only the first plan of a case is also compared with as many retries as the even ones", () => {
  const asMany = (retryCount: number) => {
    const posterior = { ...buildPosterior("FUNDS"), retryCount };
    const retryContext = buildRetryContext({
      dollars: 400,
      retriesLeft: 8,
      allow: (at) => at > START + 20 * DAY || at < START + 8 * DAY,
    });
    const chosen = chooseRetry(trainedModel, posterior, retryContext)!;
    const { even } = compareAlternatives(trainedModel, posterior, retryContext, chosen, START);
    return { isMore: even!.plan.length > even!.tries.length, is: even!.asMany !== null };
  };
  assert.deepEqual(asMany(0), { isMore: true, is: true });
  assert.deepEqual(asMany(1), { isMore: true, is: false });
});

test("the caveat for a plan's figures gives the measurements for its payment method only", () => {
  const paidBy = (paymentMethodType: string) => ({ paymentMethodType, network: null, cardCountry: null });
  const flatters = /^A model overrates its own plans: in simulations with cards/;
  assert.match(evenlySpacedCaveat(paidBy("card")), flatters);
  assert.match(
    evenlySpacedCaveat(paidBy("card")),
    /\. Evenly spaced retries recovered up to 6 points more than predicted\.$/,
  );
  assert.equal(
    evenlySpacedCaveat(paidBy("card"), false),
    "In simulations with cards, evenly spaced retries recovered up to 6 points more than predicted.",
  );
  const debits = "In simulations with bank debits, plans recovered as much as predicted";
  assert.equal(evenlySpacedCaveat(paidBy("sepa_debit")), `${debits}, and evenly spaced retries 6 to 11 points less.`);
  assert.match(evenlySpacedCaveat(paidBy("paypal")), /By how much is unknown/);
  const beside = (plans: number, debitPlans: number, others: number) =>
    listPlanCaveats({ plans, debits: debitPlans, others });
  assert.match(beside(3, 0, 0), /^A model overrates .* less than predicted\.$/);
  assert.equal(beside(3, 3, 0), `${debits}.`);
  assert.match(
    beside(3, 1, 1),
    /less than predicted\. In simulations with bank debits, .* as predicted\. A model overrates .* nor bank debits\.$/,
  );
  assert.match(beside(2, 0, 2), /^A model overrates its own plans\. By how much/);
});
