import assert from "node:assert/strict";
import { test } from "node:test";
import { measureCoverage, STRATEGIES } from "../../lab/backtest/coverage.ts";
import { createMerchantLog } from "../../lab/backtest/merchant-log.ts";
import { type Episode, estimateStrategy, isEstimate } from "./estimate.ts";
import { STOP_CHOICE } from "./retry-gaps.ts";

const one = () => 1;
const withoutPropensities = (episodes: readonly Episode[]) =>
  episodes.map((episode) => ({ ...episode, decisions: episode.decisions.map((each) => ({ ...each, chance: null })) }));
const log = createMerchantLog({ customers: 3000, depth: 0 }, [STRATEGIES.later!], 7);
const later = log.chosen[0]!;

test("of 30 histories whose truth is known, nearly all intervals hold it", () => {
  // The short form of `npm run lab -- backtest`. At 95 % fewer than 25 of 30 have a chance of 0.3 %.
  const task = { money: false, chancesKnown: false };
  const [found] = measureCoverage(30, ["later"], [task], { depth: 1, customers: 1500 });
  const { said, covered, bias } = found!;
  assert.equal(said, 30);
  assert.ok(covered >= 25, `${covered} of 30`);
  assert.ok(Math.abs(bias) < 0.02, `${bias}`);
});

test("the way that the merchant took itself is estimated as what was recovered", () => {
  const chosen = log.episodes.map(({ decisions }) => decisions.map(({ choice }) => choice));
  const own = estimateStrategy(log.episodes, chosen, 1, one);
  assert.ok(isEstimate(own));
  const paid = log.episodes.filter(({ decisions }) => decisions.some(({ succeeded }) => succeeded)).length;
  assert.ok(Math.abs(own.share - paid / log.episodes.length) < 1e-9);
  assert.deepEqual([own.difference, own.differenceLow, own.differenceHigh, own.unseen], [0, 0, 0, 0]);
});

test("an invoice is judged by a model that has seen none of its customer", () => {
  // A model that knew these two situations would weigh them alike. One that has seen nothing leaves the plain mean where the merchant did alike.
  const situation = (group: number, alike: number, paid: number): Episode[] =>
    Array.from({ length: 500 }, (_, n) => {
      const isAlike = n < alike;
      const decided = { situation: [0, group, 10 + group], choice: isAlike ? 1 : 3, chance: 0.5 };
      return { customerId: "one", amount: 1, decisions: [{ ...decided, succeeded: isAlike && n < paid }] };
    });
  const episodes = [...situation(1, 270, 162), ...situation(2, 250, 50)];
  const answer = estimateStrategy(
    episodes,
    episodes.map(() => [1]),
    1,
    one,
  );
  assert.ok(isEstimate(answer), JSON.stringify(answer));
  assert.ok(Math.abs(answer.share - (162 + 50) / (270 + 250)) < 1e-9, `${answer.share}`);
});

test("what the merchant did itself counts as seen, however seldom it did so", () => {
  // One invoice in ten is of a situation that came up four times.
  const own: Episode[] = Array.from({ length: 400 }, (_, n) => {
    const group = n < 360 ? 1 : 2 + Math.floor(n / 4);
    const decided = { situation: [0, group, 200 + group], choice: 3, chance: null, succeeded: n % 3 === 0 };
    return { customerId: `${n}`, amount: 1, decisions: [decided] };
  });
  const answer = estimateStrategy(
    own,
    own.map(() => [3]),
    1,
    one,
  );
  assert.ok(isEstimate(answer) && answer.unseen === 0, JSON.stringify(answer));
  assert.ok(Math.abs(answer.share - 134 / 400) < 1e-9);
});

test("where the merchant's system hardly ever did so, nothing is said", () => {
  const always = log.episodes.map(({ decisions }) => decisions.map(() => 8));
  const rare = estimateStrategy(log.episodes, always, 1, one);
  assert.ok(!isEstimate(rare));
  assert.equal(rare.why, "few");
  const fixed = log.episodes.map((episode) => ({
    ...episode,
    decisions: episode.decisions.map((decided) => ({
      ...decided,
      choice: decided.choice === STOP_CHOICE ? STOP_CHOICE : 3,
    })),
  }));
  const unseen = estimateStrategy(fixed, always, 1, one);
  assert.ok(!isEstimate(unseen) && unseen.effective === 0);
});

test("a choice that is unseen in a few invoices widens the range by their share, and in many of them silences it", () => {
  // Some invoices failed for a reason after which the merchant always tries on the same day.
  const withOdd = (share: number) =>
    log.episodes.map((episode, i) => {
      if (i % 100 >= share) return episode;
      const [first] = episode.decisions;
      return { ...episode, decisions: [{ ...first!, situation: [0, 900, 901], choice: 0 }] };
    });
  const [none, some, many] = [0, 3, 10].map((share) => estimateStrategy(withOdd(share), later, 1, one));
  assert.ok(none && some && isEstimate(none) && isEstimate(some));
  assert.ok(Math.abs(some.unseen - 0.03) < 0.002);
  assert.ok(some.high - some.low > none.high - none.low + 0.05);
  assert.ok(many && !isEstimate(many) && many.why === "unseen");
});

test("stopping at once recovers nothing, and it takes no history to say so", () => {
  const chosen = log.episodes.map(({ decisions }) => decisions.map(() => STOP_CHOICE));
  const none = estimateStrategy(log.episodes, chosen, 2, one);
  assert.ok(isEstimate(none));
  assert.deepEqual([none.share, none.low, none.high], [0, 0, 0]);
  assert.ok(none.differenceHigh < 0);
});

test("giving up some invoices takes away just what was recovered of them", () => {
  // What the merchant did is known after it was done only, so chances that add up for a way that is to come do not for this one.
  const episodes = withoutPropensities(log.episodes);
  // As the merchant did, but for every tenth invoice, which is given up after its first failure.
  const chosen = log.episodes.map(({ decisions }, i) =>
    decisions.map(({ choice }) => (i % 10 === 0 ? STOP_CHOICE : choice)),
  );
  const fewer = estimateStrategy(episodes, chosen, 1, one);
  const paid = log.episodes.filter(({ decisions }) => decisions.some(({ succeeded }) => succeeded)).length;
  assert.ok(isEstimate(fewer));
  assert.ok(Math.abs(fewer.difference + (0.1 * paid) / log.episodes.length) < 0.02, `${fewer.difference}`);
});

test("chances that the history states and that do not add up to what they stand for are not gone by", () => {
  const stated = (chanceOf: (chance: number) => number) =>
    log.episodes.map((episode) => ({
      ...episode,
      decisions: episode.decisions.map((decided) => ({ ...decided, chance: chanceOf(decided.chance!) })),
    }));
  assert.ok(
    isEstimate(
      estimateStrategy(
        stated((chance) => chance),
        later,
        1,
        one,
      ),
    ),
  );
  for (const chanceOf of [() => 1, () => 0.05, (chance: number) => Math.min(1, 2 * chance)]) {
    const answer = estimateStrategy(stated(chanceOf), later, 1, one);
    assert.ok(!isEstimate(answer) && answer.why === "chances", JSON.stringify(answer));
  }
  const all = estimateStrategy(
    stated(() => 1),
    later,
    1,
    one,
  );
  const alike = log.episodes.filter(({ decisions }, i) => decisions[0]!.choice === later[i]![0]).length;
  assert.ok("standsFor" in all && Math.abs(all.standsFor! - alike / log.episodes.length) < 1e-9);
  const own = log.episodes.map(({ decisions }) => decisions.map(({ choice }) => choice));
  assert.ok(
    isEstimate(
      estimateStrategy(
        stated(() => 1),
        own,
        1,
        one,
      ),
    ),
    "what it did itself is known without chances",
  );
});

test("true chances that fail to add up by accident are gone by, and those that are off by more than accident are not", () => {
  // Of 2,000 with a chance of one in ten 200 are to be expected; an accident is up to three times 13.4 more.
  const history = (alike: number): Episode[] =>
    Array.from({ length: 2000 }, (_, n) => {
      const decided = { situation: [0, 1, 2], choice: n < alike ? 1 : 3, succeeded: n % 4 === 0 };
      return { customerId: `${n}`, amount: 1, decisions: [{ ...decided, chance: n < alike ? 0.1 : 0.9 }] };
    });
  const answer = (alike: number) => {
    const episodes = history(alike);
    return estimateStrategy(
      episodes,
      episodes.map(() => [1]),
      1,
      one,
    );
  };
  assert.ok(isEstimate(answer(230)), "2.1 errors");
  const off = answer(300);
  assert.ok(!isEstimate(off) && off.why === "chances" && Math.abs(off.standsFor! - 1.5) < 1e-9, JSON.stringify(off));
});
