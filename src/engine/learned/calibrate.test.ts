import assert from "node:assert/strict";
import { test } from "node:test";
import { keyedUniform } from "../../../lab/worlds/keyed-uniform.ts";
import { calibrate, calibrationIndex, learnCalibration } from "./calibrate.ts";
import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import { classOf, REASONS } from "./model-layout.ts";

type TrueRates = Readonly<Record<string, number>>;

/** Trains with retries of each of these probabilities in turn, approved at the true rates. */
function trainCalibration(learned: LearnedModel, truth: TrueRates, rounds: number, from = 0) {
  for (let n = from; n < from + rounds; n++)
    for (const [chance, share] of Object.entries(truth))
      learnCalibration(learned, 1, Number(chance), keyedUniform(n, Number(chance) * 1e6, 0, 0) < share);
  return learned;
}

function assertNear(actual: number, wanted: number, within: number) {
  assert.ok(Math.abs(actual - wanted) < within, `${actual} is not ${wanted}`);
}

/** Typical of a limit, which ends abruptly. */
const LIMIT_RATES: TrueRates = { 0.06: 0.004, 0.15: 0.03, 0.25: 0.12, 0.45: 0.63, 0.65: 0.7, 0.85: 0.75, 0.95: 0.86 };

test("chances that come out too high above one half are corrected there, and elsewhere stay as they are", () => {
  const learned = trainCalibration(newLearnedModel(), { 0.3: 0.3, 0.8: 0.6 }, 4000);
  assertNear(calibrate(learned, 1, 0.3), 0.3, 0.03);
  assertNear(calibrate(learned, 1, 0.8), 0.6, 0.03);
  assertNear(calibrate(learned, 2, 0.8), 0.8, 1e-4);
});

test("chances that are too high when low, too low in the middle and too high when high are each corrected", () => {
  const learned = trainCalibration(newLearnedModel(), LIMIT_RATES, 4000);
  for (const [chance, share] of Object.entries(LIMIT_RATES))
    assertNear(calibrate(learned, 1, Number(chance)), share, share < 0.02 ? 0.02 : 0.06);
});

test("what is true no more is corrected anew", () => {
  const learned = trainCalibration(newLearnedModel(), { 0.5: 0.2 }, 4000);
  assertNear(calibrate(learned, 1, 0.5), 0.2, 0.04);
  trainCalibration(learned, { 0.5: 0.7 }, 6000, 4000);
  assertNear(calibrate(learned, 1, 0.5), 0.7, 0.05);
});

test("a higher chance is never said to be a lower one, however few tries there were", () => {
  for (const tries of [1, 5, 20, 100]) {
    for (let run = 0; run < 40; run++) {
      const learned = trainCalibration(newLearnedModel(), LIMIT_RATES, tries, run * 1000);
      let before = 0;
      for (let chance = 0.001; chance < 1; chance += 0.001) {
        const said = calibrate(learned, 1, chance);
        assert.ok(said >= before - 1e-12, `${tries} tries, run ${run}: ${before} and then ${said} of ${chance}`);
        before = said;
      }
    }
  }
});

test("what comes of chances far out moves those beyond the last knots, and one surprise moves none of them far", () => {
  const learned = newLearnedModel();
  assertNear(calibrate(learned, 1, 0.001), 0.001, 1e-4);
  learnCalibration(learned, 1, 0.00001, true);
  assert.ok(calibrate(learned, 1, 0.001) < 0.004, `${calibrate(learned, 1, 0.001)}`);
  assert.ok(calibrate(learned, 1, 0.04) < 0.08, `${calibrate(learned, 1, 0.04)}`);
  trainCalibration(learned, { 0.99: 0.8 }, 400);
  assert.ok(calibrate(learned, 1, 0.999) < 0.99);
  assert.ok(calibrate(learned, 1, 0.99) < calibrate(learned, 1, 0.999));
  assertNear(calibrate(learned, 1, 0.5), 0.5, 1e-3);
});

test("where chances are true already, a hundred tries change them little", () => {
  let error = 0;
  const chances = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
  for (let run = 0; run < 50; run++) {
    const learned = trainCalibration(newLearnedModel(), Object.fromEntries(chances.map((p) => [p, p])), 14, run * 1000);
    for (const chance of chances) error += Math.abs(calibrate(learned, 1, chance) - chance) / chances.length / 50;
  }
  assert.ok(error < 0.032, `${error}`);
});

test("each class of reasons has a curve for first tries and one for later ones, and shares none", () => {
  const numbers = REASONS.flatMap((reason) =>
    [0, 1, 2].map((tries) => [classOf(reason), Math.min(1, tries), calibrationIndex({ reason, tries })]),
  );
  const curves = new Set(numbers.map(([of, stage]) => `${of}:${stage}`));
  assert.equal(new Set(numbers.map(([, , of]) => of)).size, curves.size);
  assert.equal(new Set(numbers.map((number) => number.join())).size, curves.size);
});
