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

/** Customers with one invoice each; `paid` of the invoices were recovered. */
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

/** Both arms of the comparison, with `paid` of `customers` recovered in each half. */
const arms = (customers: number, dunlin: number, merchant: number): Cells => ({
  "dunlin 1": cell(customers, dunlin),
  "dunlin 2": cell(customers, dunlin),
  "merchant 1": cell(customers, merchant),
  "merchant 2": cell(customers, merchant),
});

const analyze = (
  cells: Cells,
  day: number,
  more: Partial<Experiment> = {},
  previous: InterimAnalysis | null = null,
) => {
  const counted = Object.entries(cells).reduce((sum, [name, { due }]) => sum + (/cal/.test(name) ? 0 : due), 0);
  // Invoices came in evenly; those of the last 35 days are immature.
  const waiting = Math.round((counted * 35) / Math.max(1, day - 35));
  return analyzeExperiment({ ...experiment, ...more }, tallies(cells), [], waiting, previous, after(day));
};

test("the verdict names the date of the first results when no invoice is mature", () => {
  const { verdict } = analyze({}, 10);
  assert.equal(verdict.outcome, "open");
  assert.match(verdict.words, /^Too early: .* 35 days .* 2026-02-05\.$/);
});

test("the verdict is too early and names the reason when customers are few or a few outweigh the rest", () => {
  assert.equal(
    analyze({ ...arms(40, 30, 10), "dunlin 2": cell(70, 50) }, 50).verdict.words,
    "Too early: 110 customers are counted in Dunlin's arm and 80 in the merchant's; a verdict needs 100 in each.",
  );
  const uneven = cell(60, 20);
  countCustomer(uneven, 0, 0, 200, 200);
  assert.equal(
    analyze({ ...arms(60, 40, 20), "dunlin 2": uneven }, 50).verdict.words,
    "Too early: 121 customers are counted in Dunlin's arm and 120 in the merchant's, but a few large ones outweigh the rest.",
  );
});

test("the verdict counts only customers with invoices in the primary currency", () => {
  const ofEuros: TallyLookup = (phase, arm, half, measure) =>
    measure === "EUR"
      ? tallies(arms(20, 15, 10))(phase, arm, half, "count")
      : tallies(arms(90, 60, 50))(phase, arm, half, measure);
  assert.equal(
    analyzeExperiment({ ...experiment, primary: "EUR" }, ofEuros, ["EUR"], 0, null, after(50)).verdict.words,
    "Too early: 40 customers with invoices in EUR are counted in Dunlin's arm and 40 in the merchant's; a verdict needs 100 in each.",
  );
});

test("a large difference is reported with its range per 100 failed invoices", () => {
  const better = analyze(arms(4000, 2400, 2200), 90).verdict;
  assert.equal(better.outcome, "better");
  assert.match(better.words, /^Dunlin recovers more .*: \d\.\d to \d\.\d more per 100 failed invoices\.$/);
  const worse = analyze(arms(4000, 2200, 2400), 90).verdict;
  assert.equal(worse.outcome, "worse");
  assert.match(worse.words, /fewer per 100 failed invoices\.$/);
});

test("an open verdict estimates the weeks until it can be decided", () => {
  const { outcome, words, weeksMore } = analyze(arms(1000, 570, 550), 90).verdict;
  assert.equal(outcome, "open");
  assert.match(
    words,
    /^Cannot tell yet: Dunlin recovers between \d\.\d fewer and \d\.\d more per 100 failed invoices\. A verdict is expected in about \d+ weeks\.$/,
  );
  // By the predicted week, enough invoices are mature; two weeks earlier, too few are.
  const [before, then] = [weeksMore! - 2, weeksMore!].map((weeks) => {
    const times = (55 + weeks * 7) / 55;
    return analyze(arms(Math.round(1000 * times), Math.round(570 * times), Math.round(550 * times)), 90 + weeks * 7);
  });
  assert.deepEqual([before!.verdict.outcome, then!.verdict.outcome], ["open", "better"]);
});

test('the verdict is "alike" when a difference as large as the margin is ruled out', () => {
  assert.equal(analyze(arms(20_000, 11_000, 11_000), 90).verdict.outcome, "alike");
});

test("a stopped experiment with too few invoices says that no verdict will follow", () => {
  const { words, weeksMore } = analyze(arms(1000, 570, 550), 90, { stoppedAt: after(60) }).verdict;
  assert.equal(weeksMore, null);
  assert.match(words, /there are too few for a verdict\.$/);
});

test("an experiment that stopped during calibration says that nothing was compared", () => {
  const { words } = analyze({}, 20, { comparedFrom: after(14), stoppedAt: after(3) }).verdict;
  assert.equal(words, "The experiment was stopped during calibration, before anything could be compared.");
});

test("the result becomes void for good when one arm misses customers", () => {
  const lost = { ...arms(2000, 1200, 1100), "merchant 2": cell(1600, 880) };
  const first = analyze(lost, 90);
  assert.deepEqual(first.troubles, ["split"]);
  assert.match(first.verdict.words, /^Do not use this result: .*missing from one arm\.$/);
  const later = analyze(arms(9000, 5400, 4950), 120, {}, first);
  assert.equal(later.verdict.outcome, "void");
});

test("the result is void when the arms differ in the calibration or the halves of an arm differ", () => {
  const calibrated = { "calibration dunlin 1": cell(2000, 1200), "calibration merchant 1": cell(2000, 900) };
  assert.deepEqual(analyze({ ...arms(2000, 1200, 1100), ...calibrated }, 90).troubles, ["calibration"]);
  const uneven = { ...arms(2000, 1200, 1100), "merchant 2": cell(2000, 800) };
  assert.deepEqual(analyze(uneven, 90).troubles, ["halves_merchant"]);
});

test('an analysis keeps earlier bounds, and the verdict is "moving" when the difference changes', () => {
  const first = analyze(arms(4000, 2400, 2200), 90);
  const narrowed = analyze(arms(4400, 2600, 2500), 100, {}, first);
  assert.equal(narrowed.verdict.outcome, "better");
  assert.ok(narrowed.comparisons[0]!.lower >= first.comparisons[0]!.lower);
  const turned = analyze(arms(40_000, 22_000, 22_800), 200, {}, narrowed);
  assert.equal(turned.verdict.outcome, "moving");
});

test("a range has enough decimals to agree with the verdict", () => {
  const wordsFor = (lower: number, upper: number) => {
    const previous = analyze(arms(1000, 550, 550), 90);
    const [primary] = previous.comparisons;
    // A range from earlier analyses.
    return analyze(arms(1000, 550, 550), 91, {}, { ...previous, comparisons: [{ ...primary!, lower, upper }] }).verdict
      .words;
  };
  assert.match(wordsFor(0.0003, 0.02), /: 0\.03 to 2\.0 more per 100 failed invoices\.$/);
  assert.match(wordsFor(-0.02, -0.00004), /: 0\.004 to 2\.0 fewer per 100 failed invoices\.$/);
  assert.match(
    wordsFor(-0.01, 0.02996),
    /^No difference that matters \(3\.0 points .* between 1\.0 fewer and 2\.996 more per 100 failed invoices\.$/,
  );
  assert.match(wordsFor(-0.0301, 0.0001), /between 3\.01 fewer and 0\.01 more per .* about/);
});

test("the margin is shown with the decimals that were entered", () => {
  const { words } = analyze(arms(900_000, 495_000, 495_000), 90, { margin: 0.0025 }).verdict;
  assert.match(words, /^No difference that matters \(0\.25 points or more\): /);
});

test("too few customers are not called too early when no more invoices come in", () => {
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
  const customers = "80 customers are counted in Dunlin's arm and 80 in the merchant's";
  assert.equal(
    words,
    `No verdict is possible, because no more invoices come in: ${customers}; a verdict needs 100 in each.`,
  );
  assert.equal(weeksMore, null);
  const waiting = analyzeExperiment({ ...experiment, ...stopped }, tallies(few), [], 9, null, after(80)).verdict;
  assert.equal(waiting.words, `Too early: ${customers}; a verdict needs 100 in each.`);
  const none = analyzeExperiment({ ...experiment, stoppedAt: after(1) }, tallies({}), [], 0, null, after(2)).verdict;
  assert.match(none.words, /^No verdict is possible, .*: 0 customers are counted/, "no first results are promised");
});

/** As stored and loaded. */
const throughJson = (analysis: InterimAnalysis): InterimAnalysis => ({
  ...JSON.parse(JSON.stringify(analysis)),
  at: analysis.at,
});

test("the verdict stays open when arms recovered nothing or everything, and a later difference is found", () => {
  for (const paid of [0, 75]) {
    const first = throughJson(analyze(arms(75, paid, paid), 40));
    assert.equal(first.verdict.outcome, "open");
    assert.match(first.verdict.words, /between \d+\.\d fewer and \d+\.\d more per .* in about \d+ weeks?\.$/);
    const [primary] = first.comparisons;
    assert.ok(
      primary!.lower < -0.03 && primary!.upper > 0.03,
      "150 customers in each arm rule out no difference that matters",
    );
    const [more, less] = paid === 0 ? [250, 50] : [4950, 4750];
    assert.equal(analyze(arms(5000, more!, less!), 90, {}, first).verdict.outcome, "better");
    assert.equal(analyze(arms(5000, less!, more!), 90, {}, first).verdict.outcome, "worse");
  }
});

test("the bounds of another formula version are ignored", () => {
  const { method: _, ...previous } = analyze(arms(4000, 2400, 2200), 90);
  const spoiledComparisons = previous.comparisons.map((comparison) => ({ ...comparison, lower: 0, upper: 0 }));
  const next = analyze(arms(4000, 2400, 2200), 91, {}, {
    ...previous,
    comparisons: spoiledComparisons,
  } as unknown as InterimAnalysis);
  assert.ok(next.comparisons[0]!.lower > 0 && next.comparisons[0]!.upper > next.comparisons[0]!.difference!);
});

test("problems found by another formula version are checked again, except an imbalanced split", () => {
  const cells = {
    ...arms(4000, 2200, 2200),
    "calibration dunlin 1": cell(1080, 36),
    "calibration merchant 1": cell(120, 0),
  };
  const share = { share: 0.9 };
  const plain = { ...cells, "merchant 1": cell(450, 250), "merchant 2": cell(440, 240) };
  const previous = analyze(plain, 90, share);
  assert.deepEqual(previous.troubles, [], "0 of 120 does not prove a rate of 0");
  const troubles: InterimAnalysis["troubles"] = ["split", "calibration", "halves_dunlin", "halves_merchant"];
  assert.deepEqual(analyze(plain, 91, share, { ...previous, troubles }).troubles, troubles);
  const { method: _, ...old } = { ...previous, troubles };
  assert.deepEqual(analyze(plain, 91, share, old as unknown as InterimAnalysis).troubles, ["split"]);
});
