import assert from "node:assert/strict";
import { test } from "node:test";
import { AT } from "../model/layout.ts";
import type { Learned } from "../model/learned.ts";
import { newShortfalls, noteSaid, shortfallOf } from "../model/shortfall.ts";
import { belief, DAY, HOUR, learned, question, START } from "./choose-try.fixture.ts";
import { chooseTry } from "./choose-try.ts";
import { SHORT_FROM, SHORT_FULL, SPREAD_SHARE_MAX } from "./spread-evenly.ts";

const CASES = 2000;

/** A model that said one half of each of so many tries after missing money, none of which was approved. */
function short(tries: number): Learned {
  const model = { ...learned, shortfalls: newShortfalls() };
  for (let n = 0; n < tries; n++) noteSaid(model, belief("FUNDS"), 0.5, "FUNDS");
  return model;
}

function tried(model: Learned, rest: Parameters<typeof question>[0] = {}, kase = belief("FUNDS")) {
  return Array.from({ length: CASES }, (_, n) => chooseTry(model, kase, question({ key: `case ${n}`, ...rest })));
}
const isSpread = (chosen: ReturnType<typeof chooseTry>) => chosen?.spread === true;

test("a larger share of tries is spread evenly the further what was said falls short, and none where it does not", () => {
  const shares: number[] = [];
  for (const tries of [0, 15, 45, 80]) {
    const model = short(tries);
    const deviations = shortfallOf(model, { firstReason: "FUNDS" });
    const wanted = SPREAD_SHARE_MAX * Math.max(0, Math.min(1, (deviations - SHORT_FROM) / (SHORT_FULL - SHORT_FROM)));
    const share = tried(model).filter(isSpread).length / CASES;
    assert.ok(Math.abs(share - wanted) < 0.035, `${share}, not ${wanted}`);
    shares.push(share);
  }
  assert.deepEqual([shares[0], shares[1]], [0, 0]);
  assert.ok(shares[2]! > 0.2 && shares[2]! < 0.6 && shares[3]! > 0.65, `${shares}`);
  assert.equal(tried(short(80), {}, belief("GENERIC")).filter(isSpread).length, 0, "another class of reasons");
});

test("the next of six tries comes after a sixth of what is left, the last one shortly before the end, and only where it is allowed", () => {
  const first = (rest: Parameters<typeof question>[0]) => tried(short(80), rest).find(isSpread)!;
  const near = (at: number, wanted: number) => assert.ok(Math.abs(at - wanted) <= DAY / 2, `${(at - START) / DAY}`);
  near(first({}).at, START + (28 / 6) * DAY);
  near(first({ triesLeft: 8 }).at, START + (28 / 6) * DAY);
  near(first({ triesLeft: 2 }).at, START + 14 * DAY);
  const last = first({ triesLeft: 1 }).at;
  assert.ok(last < START + 28 * DAY && last > START + 28 * DAY - 13 * HOUR);
  const allow = (at: number) => at > START + 20 * DAY;
  near(first({ allow }).at, START + 20 * DAY);
});

test("how often a moment is chosen is what is written down, by plan or evenly", () => {
  for (const tries of [0, 1]) {
    const chosen = tried(short(45), {}, { ...belief("FUNDS"), tries }).map((each) => each!);
    // Which slots there are hangs on the hour that is drawn, so of one day there are several; what is seldom chosen was drawn by lot. A try whose hour
    // was drawn has the chance of the moment in whose place it is.
    const dayOf = (at: number) => Math.round((at - START) / DAY);
    const even = dayOf(chosen.find(isSpread)!.at);
    const often = chosen.filter(({ propensity }) => propensity > 0.1);
    const evenly = often.filter(({ at, hourDrawn }) => dayOf(at) === even && !hourDrawn);
    const planned = often.filter((one) => !evenly.includes(one));
    for (const group of [evenly, planned]) {
      const mean = group.reduce((sum, { propensity }) => sum + propensity, 0) / group.length;
      assert.ok(Math.abs(group.length / CASES - mean) < 0.03, `${group.length} times, ${mean}`);
    }
  }
});

test("a case that seems hopeless is tried evenly too, but not where a try is dear", () => {
  const model = short(80);
  const seen = learned.seen.slice();
  seen[belief("REVOKED").codeName - AT.name] = 10_000;
  for (let n = 0; n < 60; n++) noteSaid(model, belief("REVOKED"), 0.5, "REVOKED");
  const hopeless = (cost: number) =>
    tried({ ...model, seen }, { stakes: { worthAt: () => 1, cost } }, belief("REVOKED")).filter((one) => one !== null);
  const cheap = hopeless(0.1);
  assert.ok(cheap.length > 0.65 * CASES && cheap.every((one) => one.hopeless), `${cheap.length}`);
  assert.ok(Math.abs(cheap.filter(isSpread).length / CASES - SPREAD_SHARE_MAX) < 0.035);
  assert.equal(hopeless(0.2).length, 0);
});
