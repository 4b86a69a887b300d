import assert from "node:assert/strict";
import { test } from "node:test";
import { measureCoverage, STRATEGIES } from "../../lab/backtest/coverage.ts";
import { createMerchantLog } from "../../lab/backtest/merchant-log.ts";
import { type Episode, estimateStrategy, isEstimate } from "./estimate.ts";
import { STOP_CHOICE } from "./retry-gaps.ts";

const countInvoices = () => 1;
const withoutPropensities = (episodes: readonly Episode[]) =>
  episodes.map((episode) => ({ ...episode, decisions: episode.decisions.map((each) => ({ ...each, chance: null })) }));
const log = createMerchantLog({ customers: 3000, depth: 0 }, [STRATEGIES.later!], 7);
const later = log.choicesByStrategy[0]!;

test("nearly all intervals cover the truth in 30 histories", () => {
  // A short form of `npm run lab -- backtest`. A correct 95% interval covers fewer than 25 of 30 with a probability of 0.3%.
  const task = { money: false, chancesKnown: false };
  // The truth has a standard error of 0.002 then, and an estimate one ten times as large.
  const options = { depth: 1, customers: 1500, truthCustomers: 60_000 };
  const [found] = measureCoverage(30, ["later"], [task], options);
  const { estimateCount, covered, bias } = found!;
  assert.equal(estimateCount, 30);
  assert.ok(covered >= 25, `${covered} of 30`);
  assert.ok(Math.abs(bias) < 0.02, `${bias}`);
});

test("a strategy with the merchant's choices is estimated as exactly what was recovered", () => {
  const chosen = log.episodes.map(({ decisions }) => decisions.map(({ choice }) => choice));
  const answer = estimateStrategy(log.episodes, chosen, 1, countInvoices);
  assert.ok(isEstimate(answer));
  const paid = log.episodes.filter(({ decisions }) => decisions.some(({ succeeded }) => succeeded)).length;
  assert.ok(Math.abs(answer.share - paid / log.episodes.length) < 1e-9);
  assert.deepEqual([answer.difference, answer.differenceLow, answer.differenceHigh, answer.unseen], [0, 0, 0, 0]);
});

test("an invoice is evaluated by a model that was fitted without its customer", () => {
  // A model that had seen both situations would weigh them equally. One that has seen neither yields the plain mean of agreeing
  // invoices.
  const situation = (group: number, agreeing: number, paid: number): Episode[] =>
    Array.from({ length: 500 }, (_, n) => {
      const isAgreeing = n < agreeing;
      const decided = { situation: [0, group, 10 + group], choice: isAgreeing ? 1 : 3, chance: 0.5 };
      return { customerId: "one", amount: 1, decisions: [{ ...decided, succeeded: isAgreeing && n < paid }] };
    });
  const episodes = [...situation(1, 270, 162), ...situation(2, 250, 50)];
  const answer = estimateStrategy(
    episodes,
    episodes.map(() => [1]),
    1,
    countInvoices,
  );
  assert.ok(isEstimate(answer), JSON.stringify(answer));
  assert.ok(Math.abs(answer.share - (162 + 50) / (270 + 250)) < 1e-9, `${answer.share}`);
});

test("a choice of the merchant counts as seen when it is rare", () => {
  // One invoice in ten is in a situation that occurred four times.
  const episodes: Episode[] = Array.from({ length: 400 }, (_, n) => {
    const group = n < 360 ? 1 : 2 + Math.floor(n / 4);
    const decided = { situation: [0, group, 200 + group], choice: 3, chance: null, succeeded: n % 3 === 0 };
    return { customerId: `${n}`, amount: 1, decisions: [decided] };
  });
  const answer = estimateStrategy(
    episodes,
    episodes.map(() => [3]),
    1,
    countInvoices,
  );
  assert.ok(isEstimate(answer) && answer.unseen === 0, JSON.stringify(answer));
  assert.ok(Math.abs(answer.share - 134 / 400) < 1e-9);
});

test("a strategy gets no estimate when the merchant's system hardly ever made its choices", () => {
  const always = log.episodes.map(({ decisions }) => decisions.map(() => 8));
  const rare = estimateStrategy(log.episodes, always, 1, countInvoices);
  assert.ok(!isEstimate(rare));
  assert.equal(rare.why, "few");
  const fixed = log.episodes.map((episode) => ({
    ...episode,
    decisions: episode.decisions.map((decided) => ({
      ...decided,
      choice: decided.choice === STOP_CHOICE ? STOP_CHOICE : 3,
    })),
  }));
  const unseen = estimateStrategy(fixed, always, 1, countInvoices);
  assert.ok(!isEstimate(unseen) && unseen.effective === 0);
});

test("a few invoices with an unseen choice widen the range, and many of them prevent an estimate", () => {
  // Some invoices failed for a reason after which the merchant always retries on the same day.
  const withOdd = (share: number) =>
    log.episodes.map((episode, i) => {
      if (i % 100 >= share) return episode;
      const [first] = episode.decisions;
      return { ...episode, decisions: [{ ...first!, situation: [0, 900, 901], choice: 0 }] };
    });
  const [none, some, many] = [0, 3, 10].map((share) => estimateStrategy(withOdd(share), later, 1, countInvoices));
  assert.ok(none && some && isEstimate(none) && isEstimate(some));
  assert.ok(Math.abs(some.unseen - 0.03) < 0.002);
  assert.ok(some.high - some.low > none.high - none.low + 0.05);
  assert.ok(many && !isEstimate(many) && many.why === "unseen");
});

test("giving up at once recovers nothing, and needs no history", () => {
  const chosen = log.episodes.map(({ decisions }) => decisions.map(() => STOP_CHOICE));
  const none = estimateStrategy(log.episodes, chosen, 2, countInvoices);
  assert.ok(isEstimate(none));
  assert.deepEqual([none.share, none.low, none.high], [0, 0, 0]);
  assert.ok(none.differenceHigh < 0);
});

test("giving up some invoices loses exactly what was recovered of them", () => {
  // Stated propensities add up for a strategy that is chosen before outcomes, but this one repeats the merchant's choices.
  const episodes = withoutPropensities(log.episodes);
  // Like the merchant, except that every tenth invoice is given up after its first failure.
  const chosen = log.episodes.map(({ decisions }, i) =>
    decisions.map(({ choice }) => (i % 10 === 0 ? STOP_CHOICE : choice)),
  );
  const fewer = estimateStrategy(episodes, chosen, 1, countInvoices);
  const paid = log.episodes.filter(({ decisions }) => decisions.some(({ succeeded }) => succeeded)).length;
  assert.ok(isEstimate(fewer));
  assert.ok(Math.abs(fewer.difference + (0.1 * paid) / log.episodes.length) < 0.02, `${fewer.difference}`);
});

test("stated propensities that do not add up prevent an estimate", () => {
  const withStated = (chanceOf: (chance: number) => number) =>
    log.episodes.map((episode) => ({
      ...episode,
      decisions: episode.decisions.map((decided) => ({ ...decided, chance: chanceOf(decided.chance!) })),
    }));
  assert.ok(
    isEstimate(
      estimateStrategy(
        withStated((chance) => chance),
        later,
        1,
        countInvoices,
      ),
    ),
  );
  for (const chanceOf of [() => 1, () => 0.05, (chance: number) => Math.min(1, 2 * chance)]) {
    const answer = estimateStrategy(withStated(chanceOf), later, 1, countInvoices);
    assert.ok(!isEstimate(answer) && answer.why === "chances", JSON.stringify(answer));
  }
  const all = estimateStrategy(
    withStated(() => 1),
    later,
    1,
    countInvoices,
  );
  const agreeing = log.episodes.filter(({ decisions }, i) => decisions[0]!.choice === later[i]![0]).length;
  assert.ok("standsFor" in all && Math.abs(all.standsFor! - agreeing / log.episodes.length) < 1e-9);
  const merchantChoices = log.episodes.map(({ decisions }) => decisions.map(({ choice }) => choice));
  assert.ok(
    isEstimate(
      estimateStrategy(
        withStated(() => 1),
        merchantChoices,
        1,
        countInvoices,
      ),
    ),
    "the merchant's own result is known without propensities",
  );
});

test("correct propensities are used despite random deviations, and significantly wrong ones are not", () => {
  // Of 2,000 with a probability of one in ten, 200 are expected, plus or minus three times 13.4.
  const history = (agreeing: number): Episode[] =>
    Array.from({ length: 2000 }, (_, n) => {
      const decided = { situation: [0, 1, 2], choice: n < agreeing ? 1 : 3, succeeded: n % 4 === 0 };
      return { customerId: `${n}`, amount: 1, decisions: [{ ...decided, chance: n < agreeing ? 0.1 : 0.9 }] };
    });
  const answer = (agreeing: number) => {
    const episodes = history(agreeing);
    return estimateStrategy(
      episodes,
      episodes.map(() => [1]),
      1,
      countInvoices,
    );
  };
  assert.ok(isEstimate(answer(230)), "2.1 standard errors");
  const off = answer(300);
  assert.ok(!isEstimate(off) && off.why === "chances" && Math.abs(off.standsFor! - 1.5) < 1e-9, JSON.stringify(off));
});
