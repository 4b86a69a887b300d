import assert from "node:assert/strict";
import { test } from "node:test";
import { newCasePosterior, newCustomerPosterior } from "./case-posterior.ts";
import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import { loosenStiffGroups, recordStrain } from "./loosen-weights.ts";
import {
  COLUMN_EDGES,
  dayPartColumn,
  ROW_WIDTH,
  ROWS_BY_KIND,
  rowStart,
  rowsOf,
  STANDINGS,
  WEIGHT_STARTS,
} from "./model-layout.ts";
import { createPseudoRandom } from "./pseudo-random.fixture.ts";
import { IMMEDIATE } from "./settlement.ts";
import { learnRetry } from "./train.ts";
import { GROUP_BY_WEIGHT, NO_GROUP, WEIGHT_GROUPS } from "./weight-groups.ts";

const HOUR = 3_600_000;
const FAILED_AT = Date.parse("2026-03-12T00:00:00Z");
const DECLINE_FACTS = {
  reason: "GENERIC",
  code: "05",
  standing: STANDINGS.between,
  codeFeature: WEIGHT_STARTS.name,
} as const;

/** Trains on retries of two networks' cards by day and by night, approved as `isGood` returns. */
function trainModel(isGood: (network: string, byDay: boolean, n: number) => boolean, retryCount: number): LearnedModel {
  const model = newLearnedModel();
  for (let n = 0; n < retryCount; n++) {
    const [network, byDay] = [n % 2 === 0 ? "visa" : "amex", n % 4 < 2];
    const customer = newCustomerPosterior(model, "SE");
    const caseInputs = { features: new Int32Array(0), rows: Int32Array.of(rowStart("network", network)) };
    const posterior = newCasePosterior(model, customer, {
      ...DECLINE_FACTS,
      ...caseInputs,
      clock: { offsetMs: 0, booking: IMMEDIATE },
      failedAt: FAILED_AT,
      recent: [],
    });
    const at = FAILED_AT + (3 * 24 + (byDay ? 13 : 1)) * HOUR;
    learnRetry(model, customer, posterior, at, isGood(network, byDay, n) ? null : "GENERIC");
  }
  return model;
}

const INITIAL_MODEL = newLearnedModel();
const variancesOf = ({ variance }: LearnedModel, columns: number) => {
  const { start: first } = ROWS_BY_KIND.network;
  return [...variance.subarray(first + COLUMN_EDGES[columns]!, first + COLUMN_EDGES[columns + 1]!)];
};

test("the hours of all networks are loosened, and their weekdays are not, when two networks differ by day and night", () => {
  const model = trainModel((network, byDay) => (network === "visa") === byDay, 600);
  const [before] = variancesOf(INITIAL_MODEL, 0);
  const unmet = rowStart("network", "elo");
  assert.ok(model.variance[unmet]! > before!, "what is learned of two holds for a third one");
  assert.ok(model.variance[unmet + COLUMN_EDGES[1]!]! <= before!);
  const gain = (network: string) => {
    const row = rowStart("network", network);
    return model.mean[row + dayPartColumn(13)]! - model.mean[row + dayPartColumn(1)]!;
  };
  assert.ok(gain("visa") > 0.5 && gain("amex") < -0.5, `${gain("visa")} and ${gain("amex")}`);
});

test("almost nothing is loosened when outcomes do not depend on the attributes", () => {
  const draw = createPseudoRandom(7);
  const model = newLearnedModel();
  for (let n = 0; n < 5000; n++) {
    const one = (values: string) => values.split(" ")[Math.floor(draw() * values.split(" ").length)]!;
    const rows = rowsOf({
      country: one("SE PL DE"),
      code: one("51 05"),
      advice: one("01 24 02"),
      pay: one("debit:card credit:card"),
      network: one("visa amex"),
      amount: Math.floor(draw() * 8),
      tenure: Math.floor(draw() * 5),
      issuer: one("a b c d e"),
      period: one("1month 1year"),
    });
    const customer = newCustomerPosterior(model, "SE");
    const caseInputs = {
      features: new Int32Array(0),
      rows,
      clock: { offsetMs: 0, booking: IMMEDIATE },
      failedAt: FAILED_AT,
      recent: [],
    };
    const at = FAILED_AT + Math.floor(1 + draw() * 600) * HOUR;
    learnRetry(
      model,
      customer,
      newCasePosterior(model, customer, { ...DECLINE_FACTS, ...caseInputs }),
      at,
      draw() < 0.3 ? null : "GENERIC",
    );
  }
  const loosened = WEIGHT_GROUPS.filter(({ from, width, rows }) => {
    const last = from + width - 1 + (rows - 1) * ROW_WIDTH;
    return (
      model.variance[from]! > INITIAL_MODEL.variance[from]! || model.variance[last]! > INITIAL_MODEL.variance[last]!
    );
  });
  assert.ok(loosened.length <= 3, `${loosened.length} of ${WEIGHT_GROUPS.length}`);
});

/** Runs `count` updates that each pull a weight by its distance from the truth. */
function trainWeight(model: LearnedModel, weight: number, truth: number, count: number) {
  for (let n = 0; n < count; n++) {
    const pull = truth - model.mean[weight]! + (n % 2 === 0 ? 0.5 : -0.5);
    recordStrain(model, weight, pull);
    model.mean[weight]! += 0.01 * pull;
    loosenStiffGroups(model);
  }
}

test("a group is loosened up to a limit when its prior was wrong in any direction, and a weight without a group never is", () => {
  const weight = rowStart("network", "visa");
  const { varianceMax } = WEIGHT_GROUPS[GROUP_BY_WEIGHT[weight]!]!;
  for (const [prior, truth] of [
    [0, 1],
    [0.6, 1.6],
    [0.6, -0.6],
  ] as const) {
    const model = newLearnedModel();
    for (const index of [weight, WEIGHT_STARTS.name]) {
      model.start[index] = model.mean[index] = prior;
      trainWeight(model, index, truth, 300);
    }
    const now = model.variance[weight]!;
    assert.ok(now > INITIAL_MODEL.variance[weight]! && now <= varianceMax, `from ${prior} to ${truth}: ${now}`);
    assert.equal(model.variance[WEIGHT_STARTS.name], INITIAL_MODEL.variance[WEIGHT_STARTS.name]);
  }
  assert.equal(GROUP_BY_WEIGHT[WEIGHT_STARTS.name], NO_GROUP);
  const right = newLearnedModel();
  right.start[weight] = right.mean[weight] = 0.6;
  trainWeight(right, weight, 0.6, 300);
  assert.equal(right.variance[weight], INITIAL_MODEL.variance[weight]);
});

test("a group is loosened again when its learned weights no longer hold", () => {
  const model = newLearnedModel();
  const weight = rowStart("network", "visa");
  const usual = INITIAL_MODEL.variance[weight]!;
  model.mean[weight] = 0.8;
  for (let n = 0; n < 600; n++) recordStrain(model, weight, n % 2 === 0 ? 0.5 : -0.5);
  loosenStiffGroups(model);
  assert.equal(model.variance[weight], usual, "it is right");
  for (let n = 0; n < 600; n++) recordStrain(model, weight, n % 2 === 0 ? 0.2 : -0.8);
  loosenStiffGroups(model);
  assert.ok(model.variance[weight]! > usual, `${model.variance[weight]}`);
});

test("loosening takes more each time a group was too stiff, but not because its learned weights became wrong", () => {
  const weight = rowStart("network", "visa");
  const made = () => {
    const model = newLearnedModel();
    model.mean[weight] = 0.8;
    return model;
  };
  const lessonsToLoosen = (model: LearnedModel) => {
    const before = model.variance[weight]!;
    let count = 0;
    for (; model.variance[weight] === before; count++) {
      recordStrain(model, weight, 0.2);
      loosenStiffGroups(model);
    }
    return count;
  };
  const held = made();
  const first = lessonsToLoosen(held);
  assert.ok(lessonsToLoosen(held) > first);
  const wrong = made();
  for (let n = 0; n < 40; n++) recordStrain(wrong, weight, -0.2);
  loosenStiffGroups(wrong);
  assert.ok(wrong.variance[weight]! > INITIAL_MODEL.variance[weight]!);
  assert.equal(lessonsToLoosen(wrong), first);
});

test("groups do not overlap, and each row is in five of them", () => {
  const members = WEIGHT_GROUPS.map(() => 0);
  for (const group of GROUP_BY_WEIGHT) if (group !== NO_GROUP) members[group]!++;
  assert.ok(WEIGHT_GROUPS.length < NO_GROUP);
  assert.deepEqual(
    members,
    WEIGHT_GROUPS.map(({ width, rows }) => width * rows),
  );
  const row = rowStart("issuer", "a bank");
  assert.equal(new Set(GROUP_BY_WEIGHT.subarray(row, row + ROW_WIDTH)).size, 5);
});
