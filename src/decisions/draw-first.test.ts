import assert from "node:assert/strict";
import { test } from "node:test";
import { countFirst, firstsOf, newFirsts } from "../model/firsts.ts";
import { type Learned, newLearned } from "../model/learned.ts";
import { belief, DAY, HOUR, question, START } from "./choose-try.fixture.ts";
import { chooseTry } from "./choose-try.ts";
import { LOT_DOLLARS_MAX, SOON_COST_MAX, SOON_QUARTER_TRIES, SOON_SHARE_MAX } from "./draw-first.ts";

const CASES = 3000;

/** First tries of many cases whose plan begins late: nothing is believed to work in the first days. */
function firstTries(learned: Learned, rest: Parameters<typeof question>[0] = {}) {
  const late = belief("GENERIC");
  late.shares.fill(0);
  // A hold that ends after eight days.
  const hold = late.holdsEnd.findIndex((end) => end > START + 8 * DAY);
  late.shares[late.shares.length - 1 - late.holdsEnd.length + hold] = 1;
  return Array.from({ length: CASES }, (_, n) => chooseTry(learned, late, question({ key: `case ${n}`, ...rest }))!);
}
const soonOf = (tries: ReturnType<typeof firstTries>) => tries.filter(({ at }) => at < START + 6 * DAY);

test("where first tries are planned for later, some are made sooner: a tenth of them while none were, and ever fewer the more were", () => {
  const learned = newLearned();
  const [plain] = firstTries({ ...learned, firsts: newFirsts().fill(1e9) });
  assert.ok(plain!.at > START + 8 * DAY && !plain!.drawn);

  const none = soonOf(firstTries(learned));
  assert.ok(Math.abs(none.length / CASES - SOON_SHARE_MAX - 0.015) < 0.02, `${none.length}`);
  assert.ok(none.some(({ at }) => at < START + 6 * HOUR) && none.some(({ at }) => at > START + 4 * DAY));
  assert.ok(
    none.every(({ drawn, next }) => drawn && next.length > 0),
    "the plan's other tries follow",
  );

  const counts = newFirsts().fill(1e9);
  const row = firstsOf({ ...learned, firsts: counts }, { reason: "GENERIC" });
  row[3] = 3 * SOON_QUARTER_TRIES;
  const fewer = soonOf(firstTries({ ...learned, firsts: counts }));
  const there = fewer.filter(({ at }) => at >= START + 1.5 * DAY && at < START + 2.5 * DAY);
  assert.ok(Math.abs(there.length / CASES - 1 / 16) < 0.015, `${there.length}`);
  assert.ok(fewer.length - there.length < 0.03 * CASES, "but for the few that are drawn among good moments");
});

test("where the plan's own moment is the only good one, and where a lot draws that, none is said to be drawn", () => {
  const tries = firstTries(newLearned(), { windowEndsAt: START + 4 * HOUR });
  assert.equal(new Set(tries.map(({ at }) => at)).size, 1);
  assert.ok(tries.every(({ drawn, propensity }) => !drawn && propensity > 1 - 1e-9));
  for (const { at, drawn, weighed } of firstTries(newLearned()))
    if (drawn) assert.notEqual(at, weighed.forecast.slots[weighed.plan.slots[0]!]);
});

test("how often a sooner moment is chosen is what is written down", () => {
  const learned = { ...newLearned(), firsts: newFirsts().fill(2 * SOON_QUARTER_TRIES) };
  const byMoment = new Map<number, number[]>();
  for (const { at, propensity } of soonOf(firstTries(learned)))
    byMoment.set(at, [...(byMoment.get(at) ?? []), propensity]);
  const often = [...byMoment.values()].filter(({ length }) => length > 0.01 * CASES);
  assert.ok(often.length >= 4, `${often.length} moments`);
  for (const propensities of often) {
    const mean = propensities.reduce((sum, each) => sum + each, 0) / propensities.length;
    assert.ok(Math.abs(propensities.length / CASES - mean) < 0.008, `${propensities.length} times, ${mean}`);
  }
});

test("nothing is tried sooner where a try costs more than that is worth", () => {
  const dear = { worthAt: () => 1, cost: 3 * SOON_COST_MAX };
  const tries = firstTries(newLearned(), { stakes: dear });
  assert.deepEqual(soonOf(tries), []);
});

test("of a large invoice no lot costs more than of a small one", () => {
  const drawn = (dollars: number) => firstTries(newLearned(), { dollars }).filter((each) => each.drawn);
  assert.ok(drawn(LOT_DOLLARS_MAX / SOON_COST_MAX).length > 0.05 * CASES);
  assert.ok(drawn(10_000).length < 0.03 * CASES, "but for those that cost next to nothing");
});

test("first tries are counted by the class of their reason and the time since the failure, and fade", () => {
  const learned = newLearned();
  for (let n = 0; n < 1000; n++) countFirst(learned, belief("FUNDS"), START + 5 * DAY);
  countFirst(learned, belief("FUNDS"), START + HOUR);
  const counts = firstsOf(learned, { reason: "FUNDS" });
  assert.equal(counts[0], 1);
  assert.ok(counts[5]! > 800 && counts[5]! < 900, `${counts[5]}`);
  assert.equal(firstsOf(learned, { reason: "GENERIC" })[5], 0);
});
