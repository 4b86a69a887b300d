import assert from "node:assert/strict";
import { test } from "node:test";
import type { CellTotals } from "../../domain/experiment.ts";
import { ALPHA_BY_CHECK, findArmProblems, type TallyLookup } from "./arm-checks.ts";
import { sequenceHalfWidth } from "./confidence-sequence.ts";
import { countCustomer, emptyTally, recoveryRateOf } from "./tally.ts";

const experiment = { share: 0.5, primary: "count", margin: 0.03 };
const CUSTOMERS = 2000;

/** Customers with one invoice each; `paid` of the invoices were recovered. */
function cell(paid: number): CellTotals {
  const tally = emptyTally();
  for (let n = 0; n < CUSTOMERS; n++) countCustomer(tally, 0, 0, 1, n < paid ? 1 : 0);
  return tally;
}

/** Two groups that are compared. Half of the first group's invoices are always recovered. */
const GROUPS = {
  calibration: ["calibration dunlin 1", "calibration merchant 1"],
  halves_dunlin: ["comparison dunlin 1", "comparison dunlin 2"],
  halves_merchant: ["comparison merchant 1", "comparison merchant 2"],
} as const;
const NAMES = Object.keys(GROUPS) as (keyof typeof GROUPS)[];

function findProblems(name: keyof typeof GROUPS, paid: number) {
  const same = cell(CUSTOMERS / 2);
  const [, other] = GROUPS[name];
  const cells = new Map<string, CellTotals>(NAMES.flatMap((each) => GROUPS[each].map((key) => [key, same] as const)));
  cells.set(other, cell(paid));
  const tallies: TallyLookup = (phase, arm, half) => cells.get(`${phase} ${arm} ${half}`);
  return findArmProblems(experiment, tallies);
}

test("the false alarms of an experiment have a total probability of 5%", () => {
  const { difference, split, calibration } = ALPHA_BY_CHECK;
  assert.ok(Math.abs(difference + split.calibration + split.comparison + calibration - 0.05) < 1e-12);
});

/** The smallest recovered number in the other group that chance still explains. */
function findSmallestDetected(alpha: number) {
  const first = recoveryRateOf(cell(CUSTOMERS / 2))!;
  for (let paid = 0; paid < CUSTOMERS / 2; paid++) {
    const other = recoveryRateOf(cell(paid))!;
    const width = sequenceHalfWidth(first.variance + other.variance, experiment.margin, alpha);
    if (first.share - other.share <= width) return paid;
  }
  throw new Error("chance explains no difference");
}

for (const name of NAMES)
  test(`the check of ${name} uses a third of the shared 0.5%`, () => {
    const least = findSmallestDetected(0.005 / 3);
    assert.deepEqual([findProblems(name, least), findProblems(name, least - 1)], [[], [name]]);
  });
