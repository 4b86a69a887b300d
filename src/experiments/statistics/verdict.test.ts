import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../domain/durations.ts";
import type { CellTotals, Experiment } from "../../domain/experiment.ts";
import type { TallyLookup } from "./arm-checks.ts";
import { analyzeExperiment, type InterimAnalysis } from "./interim-analysis.ts";
import { countCustomer, emptyTally } from "./tally.ts";

const START = new Date("2026-01-01T00:00:00Z");
const experiment: Experiment = {
  id: "x",
  name: "x",
  salt: "x",
  share: 0.5,
  startedAt: START,
  comparedFrom: START,
  stoppedAt: null,
  maturityDays: 35,
  primary: "count",
  margin: 0.03,
};
const after = (days: number) => new Date(START.getTime() + days * DAY_MS);

/** Customers with one invoice each, of which `paid` were recovered. */
function cell(customers: number, paid: number): CellTotals {
  const tally = emptyTally();
  for (let n = 0; n < customers; n++) countCustomer(tally, 0, 0, 1, n < paid ? 1 : 0);
  return tally;
}

type Cells = Readonly<Record<string, CellTotals>>;
const tallies =
  (cells: Cells): TallyLookup =>
  (phase, arm, half, measure) =>
    measure === "count" ? cells[`${phase === "calibration" ? "calibration " : ""}${arm} ${half}`] : undefined;

/** Both arms of the comparison, `paid` of `customers` in each half. */
const arms = (customers: number, dunlin: number, merchant: number): Cells => ({
  "dunlin 1": cell(customers, dunlin),
  "dunlin 2": cell(customers, dunlin),
  "merchant 1": cell(customers, merchant),
  "merchant 2": cell(customers, merchant),
});

const look = (cells: Cells, day: number, more: Partial<Experiment> = {}, former: InterimAnalysis | null = null) => {
  const counted = Object.entries(cells).reduce((sum, [name, { due }]) => sum + (/cal/.test(name) ? 0 : due), 0);
  // They came evenly, and those of the last 35 days are too young.
  const waiting = Math.round((counted * 35) / Math.max(1, day - 35));
  return analyzeExperiment({ ...experiment, ...more }, tallies(cells), [], waiting, former, after(day));
};

test("before invoices are old enough, the verdict says when the first results come", () => {
  const { verdict } = look({}, 10);
  assert.equal(verdict.outcome, "open");
  assert.match(verdict.words, /^Too early: .* 35 days .* 2026-02-05\.$/);
});

test("with too few customers, or a few that outweigh the rest, it is too early as well, and which it is is said", () => {
  assert.equal(
    look({ ...arms(40, 30, 10), "dunlin 2": cell(70, 50) }, 50).verdict.words,
    "Too early: 110 customers count in Dunlin's arm and 80 in the merchant's; a verdict takes 100 in each.",
  );
  const uneven = cell(60, 20);
  countCustomer(uneven, 0, 0, 200, 200);
  assert.equal(
    look({ ...arms(60, 40, 20), "dunlin 2": uneven }, 50).verdict.words,
    "Too early: 121 customers count in Dunlin's arm and 120 in the merchant's, of whom a few large ones outweigh the rest.",
  );
});

test("where the verdict rests on money, it says that those of other currencies are not among the customers", () => {
  const ofEuros: TallyLookup = (phase, arm, half, measure) =>
    measure === "EUR"
      ? tallies(arms(20, 15, 10))(phase, arm, half, "count")
      : tallies(arms(90, 60, 50))(phase, arm, half, measure);
  assert.equal(
    analyzeExperiment({ ...experiment, primary: "EUR" }, ofEuros, ["EUR"], 0, null, after(50)).verdict.words,
    "Too early: 40 customers with invoices in EUR count in Dunlin's arm and 40 in the merchant's; a verdict takes 100 in each.",
  );
});

test("a large difference is told, with its range in invoices of a hundred", () => {
  const better = look(arms(4000, 2400, 2200), 90).verdict;
  assert.equal(better.outcome, "better");
  assert.match(better.words, /^Dunlin recovers more .*: of 100 failed invoices \d\.\d to \d\.\d more\.$/);
  const worse = look(arms(4000, 2200, 2400), 90).verdict;
  assert.equal(worse.outcome, "worse");
  assert.match(worse.words, /fewer\.$/);
});

test("what is too close to tell is said to be so, with the weeks that it takes if it goes on so", () => {
  const { outcome, words, weeksMore } = look(arms(1000, 570, 550), 90).verdict;
  assert.equal(outcome, "open");
  assert.match(
    words,
    /^Cannot tell yet: of 100 failed invoices Dunlin recovers between \d\.\d fewer and \d\.\d more\. About \d+ more weeks will tell\.$/,
  );
  // By then so many times the invoices of the first 55 days are old enough, and two weeks before there are not.
  const [before, then] = [weeksMore! - 2, weeksMore!].map((weeks) => {
    const times = (55 + weeks * 7) / 55;
    return look(arms(Math.round(1000 * times), Math.round(570 * times), Math.round(550 * times)), 90 + weeks * 7);
  });
  assert.deepEqual([before!.verdict.outcome, then!.verdict.outcome], ["open", "better"]);
});

test("no difference is a verdict too, once a larger one than matters is out of the question", () => {
  assert.equal(look(arms(20_000, 11_000, 11_000), 90).verdict.outcome, "alike");
});

test("a stopped experiment that has not enough says that it never will", () => {
  const { words, weeksMore } = look(arms(1000, 570, 550), 90, { stoppedAt: after(60) }).verdict;
  assert.equal(weeksMore, null);
  assert.match(words, /will not be enough\.$/);
});

test("one that was stopped during its calibration says that nothing was compared, and promises no results", () => {
  const { words } = look({}, 20, { comparedFrom: after(14), stoppedAt: after(3) }).verdict;
  assert.equal(words, "It was stopped during its calibration, before anything could be compared.");
});

test("customers missing from one arm make the result void, and it stays so", () => {
  const lost = { ...arms(2000, 1200, 1100), "merchant 2": cell(1600, 880) };
  const first = look(lost, 90);
  assert.deepEqual(first.troubles, ["split"]);
  assert.match(first.verdict.words, /^Do not use this result: .*missing from one arm\.$/);
  const later = look(arms(9000, 5400, 4950), 120, {}, first);
  assert.equal(later.verdict.outcome, "void");
});

test("arms that differ in the calibration can't be compared, nor can an arm whose halves differ", () => {
  const calibrated = { "calibration dunlin 1": cell(2000, 1200), "calibration merchant 1": cell(2000, 900) };
  assert.deepEqual(look({ ...arms(2000, 1200, 1100), ...calibrated }, 90).troubles, ["calibration"]);
  const uneven = { ...arms(2000, 1200, 1100), "merchant 2": cell(2000, 800) };
  assert.deepEqual(look(uneven, 90).troubles, ["halves_merchant"]);
});

test("what a look has ruled out stays ruled out; a truth that moves shows as such", () => {
  const first = look(arms(4000, 2400, 2200), 90);
  const kept = look(arms(4400, 2600, 2500), 100, {}, first);
  assert.equal(kept.verdict.outcome, "better");
  assert.ok(kept.comparisons[0]!.lower >= first.comparisons[0]!.lower);
  const turned = look(arms(40_000, 22_000, 22_800), 200, {}, kept);
  assert.equal(turned.verdict.outcome, "moving");
});

test("a range is written so finely that it agrees with the verdict", () => {
  const told = (lower: number, upper: number) => {
    const former = look(arms(1000, 550, 550), 90);
    const [primary] = former.comparisons;
    // A range that earlier looks left over.
    return look(arms(1000, 550, 550), 91, {}, { ...former, comparisons: [{ ...primary!, lower, upper }] }).verdict
      .words;
  };
  assert.match(told(0.0003, 0.02), /: of 100 failed invoices 0\.03 to 2\.0 more\.$/);
  assert.match(told(-0.02, -0.00004), /: of 100 failed invoices 0\.004 to 2\.0 fewer\.$/);
  assert.match(
    told(-0.01, 0.02996),
    /^No difference that matters \(3\.0 points .* between 1\.0 fewer and 2\.996 more\.$/,
  );
  assert.match(told(-0.0301, 0.0001), /between 3\.01 fewer and 0\.01 more\. About/);
});

test("a smallest difference that matters is written as it was chosen", () => {
  const { words } = look(arms(900_000, 495_000, 495_000), 90, { margin: 0.0025 }).verdict;
  assert.match(words, /^No difference that matters \(0\.25 points or more\): /);
});

test("too few who are all counted are not said to be too early, once no more come in", () => {
  const few = arms(40, 30, 10);
  const stopped = { stoppedAt: after(50) };
  const { words, weeksMore } = analyzeExperiment(
    { ...experiment, ...stopped },
    tallies(few),
    [],
    0,
    null,
    after(90),
  ).verdict;
  const customers = "80 customers count in Dunlin's arm and 80 in the merchant's";
  assert.equal(words, `Nothing can be told, and no more invoices come in: ${customers}; a verdict takes 100 in each.`);
  assert.equal(weeksMore, null);
  const waiting = analyzeExperiment({ ...experiment, ...stopped }, tallies(few), [], 9, null, after(80)).verdict;
  assert.equal(waiting.words, `Too early: ${customers}; a verdict takes 100 in each.`);
  const none = analyzeExperiment({ ...experiment, stoppedAt: after(1) }, tallies({}), [], 0, null, after(2)).verdict;
  assert.match(none.words, /^Nothing can be told, .*: 0 customers count/, "no first results are promised");
});

/** As it comes back from the store. */
const throughJson = (look: InterimAnalysis): InterimAnalysis => ({ ...JSON.parse(JSON.stringify(look)), at: look.at });

test("arms of which nothing, or everything, was recovered leave the verdict open, and a difference that comes later is told", () => {
  for (const paid of [0, 75]) {
    const first = throughJson(look(arms(75, paid, paid), 40));
    assert.equal(first.verdict.outcome, "open");
    assert.match(first.verdict.words, /between \d+\.\d fewer and \d+\.\d more\. About \d+ more weeks? will tell\.$/);
    const [primary] = first.comparisons;
    assert.ok(primary!.lower < -0.03 && primary!.upper > 0.03, "150 in each arm rule out no difference that matters");
    const [more, less] = paid === 0 ? [250, 50] : [4950, 4750];
    assert.equal(look(arms(5000, more!, less!), 90, {}, first).verdict.outcome, "better");
    assert.equal(look(arms(5000, less!, more!), 90, {}, first).verdict.outcome, "worse");
  }
});

test("ranges of looks by another arithmetic are not built on", () => {
  const { method: _, ...former } = look(arms(4000, 2400, 2200), 90);
  const spoiled = former.comparisons.map((comparison) => ({ ...comparison, lower: 0, upper: 0 }));
  const next = look(arms(4000, 2400, 2200), 91, {}, { ...former, comparisons: spoiled } as unknown as InterimAnalysis);
  assert.ok(next.comparisons[0]!.lower > 0 && next.comparisons[0]!.upper > next.comparisons[0]!.difference!);
});

test("groups that another arithmetic found to differ are looked at anew, and a split that was off stays so", () => {
  const cells = {
    ...arms(4000, 2200, 2200),
    "calibration dunlin 1": cell(1080, 36),
    "calibration merchant 1": cell(120, 0),
  };
  const share = { share: 0.9 };
  const plain = { ...cells, "merchant 1": cell(450, 250), "merchant 2": cell(440, 240) };
  const former = look(plain, 90, share);
  assert.deepEqual(former.troubles, [], "0 of 120 are no certainty of 0");
  const troubles: InterimAnalysis["troubles"] = ["split", "calibration", "halves_dunlin", "halves_merchant"];
  assert.deepEqual(look(plain, 91, share, { ...former, troubles }).troubles, troubles);
  const { method: _, ...old } = { ...former, troubles };
  assert.deepEqual(look(plain, 91, share, old as unknown as InterimAnalysis).troubles, ["split"]);
});
