import assert from "node:assert/strict";
import { test } from "node:test";
import { AT } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { newShortfalls, noteSaid, shortfallOf } from "../model/shortfall.ts";
import { belief, DAY, HOUR, learned, question, START } from "./choose-try.fixture.ts";
import { chooseTry } from "./choose-try.ts";
import { SHORT_FROM, SHORT_FULL, SPREAD_SHARE_MAX } from "./spread-evenly.ts";

const CASES = 2000;

/** A model that said 0.6, or so much, of each of so many tries after missing money, none of which was approved. */
function short(tries: number, said = 0.6, reason: "FUNDS" | "REVOKED" = "FUNDS"): Learned {
  const model = { ...learned, shortfalls: newShortfalls() };
  for (let n = 0; n < tries; n++) noteSaid(model, belief(reason), said, START - (tries - n) * HOUR, reason);
  return model;
}
const FAR = short(120);

function tried(model: Learned, rest: Parameters<typeof question>[0] = {}, kase = belief("FUNDS")) {
  return Array.from({ length: CASES }, (_, n) => chooseTry(model, kase, question({ key: `case ${n}`, ...rest })));
}
const isSpread = (chosen: ReturnType<typeof chooseTry>) => chosen?.spread === true;

test("a larger share of tries is spread evenly the further what was said falls short, and none where it does not", () => {
  const shares: number[] = [];
  for (const tries of [0, 25, 60, 120]) {
    const model = short(tries);
    const deviations = shortfallOf(model, { firstReason: "FUNDS" }, START);
    const wanted = SPREAD_SHARE_MAX * Math.max(0, Math.min(1, (deviations - SHORT_FROM) / (SHORT_FULL - SHORT_FROM)));
    const share = tried(model).filter(isSpread).length / CASES;
    assert.ok(Math.abs(share - wanted) < 0.035, `${share}, not ${wanted}`);
    shares.push(share);
  }
  assert.equal(shares[0], 0);
  assert.ok(shares[2]! > 0.2 && shares[2]! < 0.6 && shares[3]! > 0.65, `${shares}`);
  assert.equal(tried(FAR, {}, belief("GENERIC")).filter(isSpread).length, 0, "another class of reasons");
  const since = { ...belief("FUNDS"), reason: "GENERIC" as const };
  assert.ok(tried(FAR, {}, since).some(isSpread), "the class is that of the reason that the case began with");
});

const near = (at: number, wanted: number, within = DAY / 2) =>
  assert.ok(Math.abs(at - wanted) <= within, `${(at - START) / DAY}, not ${(wanted - START) / DAY}`);

test("the next of six tries comes after a sixth of what is left, the last one shortly before the end, and only where it is allowed", () => {
  const first = (rest: Parameters<typeof question>[0], of = belief("FUNDS")) => tried(FAR, rest, of).find(isSpread)!;
  near(first({}).at, START + (28 / 6) * DAY);
  near(first({ triesLeft: 15 }).at, START + (28 / 6) * DAY);
  near(first({ triesLeft: 2 }).at, START + 14 * DAY);
  near(first({ triesLeft: 1, windowEndsAt: START + 28 * DAY }).at, START + 28 * DAY - HOUR, HOUR);
  const allow = (at: number) => at > START + 20 * DAY;
  near(first({ allow }).at, START + 20 * DAY);
  near(first({ windowEndsAt: START + DAY }).at, START + DAY / 2, 4 * HOUR);
});

test("tries that were made count among the six, and after six none is spread", () => {
  const tries = (count: number) => ({ ...belief("FUNDS"), tries: count, lastTriedAt: START });
  near(tried(FAR, { triesLeft: 8 }, tries(4)).find(isSpread)!.at, START + 14 * DAY);
  assert.equal(tried(FAR, { triesLeft: 8 }, tries(6)).filter(isSpread).length, 0);
});

test("charges of other bills put off no try that is spread", () => {
  const later = tried(FAR, { now: START + 3 * DAY }).find(isSpread)!;
  near(later.at, START + (28 / 6) * DAY);
  near(tried(FAR, { now: START + 9 * DAY }).find(isSpread)!.at, START + 9 * DAY, DAY / 4);
});

test("how often a moment is chosen is what is written down, by plan or evenly", () => {
  for (const tries of [0, 1]) {
    const chosen = tried(short(60), {}, { ...belief("FUNDS"), tries }).map((each) => each!);
    const byMoment = Map.groupBy(chosen, ({ at }) => at);
    for (const [, same] of byMoment) {
      const { propensity } = same[0]!;
      const luck = 4.5 * Math.sqrt((propensity * (1 - propensity)) / CASES) + 1 / CASES;
      assert.ok(Math.abs(same.length / CASES - propensity) < luck, `${same.length} times, ${propensity}`);
    }
    const sum = [...byMoment.values()].reduce((all, [one]) => all + one!.propensity, 0);
    assert.ok(sum < 1 + 1e-9 && sum > 0.995, `${sum}`);
  }
});

test("where the plan's next try is the even one, it is chosen for sure", () => {
  // One moment is left.
  const only = { allow: (at: number) => at > START + 14 * DAY && at < START + 14.4 * DAY, triesLeft: 2 };
  const chosen = tried(short(60), only, { ...belief("FUNDS"), tries: 1 }).map((each) => each!);
  const even = chosen.find(isSpread)!;
  assert.equal(even.at, chosen.find(({ spread, hourDrawn }) => !spread && !hourDrawn)!.at);
  assert.ok(even.propensity > 0.8 && even.propensity < 1);
});

test("what is spread is said to be neither drawn by lot nor by the hour", () => {
  const spread = tried(FAR).filter(isSpread);
  assert.ok(spread.length > 0.6 * CASES);
  assert.ok(spread.every((one) => !one!.drawn && !one!.hourDrawn));
});

test("a case that seems hopeless is tried evenly too, but not where all its tries are dear", () => {
  const model = short(120, 0.6, "REVOKED");
  const seen = learned.seen.slice();
  seen[belief("REVOKED").codeName - AT.name] = 10_000;
  const hopeless = (cost: number, triesLeft = 6) =>
    tried({ ...model, seen }, { triesLeft, stakes: { worthAt: () => 1, cost } }, belief("REVOKED")).filter(
      (one) => one !== null,
    );
  const cheap = hopeless(0.09, 2);
  assert.ok(cheap.length > 0.65 * CASES && cheap.every((one) => one.hopeless), `${cheap.length}`);
  assert.ok(Math.abs(cheap.filter(isSpread).length / CASES - SPREAD_SHARE_MAX) < 0.035);
  const dear = hopeless(0.09, 6);
  assert.ok(dear.length > 0 && !dear.some(isSpread), "one in twenty, as else");
  assert.equal(hopeless(0.2, 1).length, 0);
});
