import assert from "node:assert/strict";
import { test } from "node:test";
import { keyedUniform } from "../../../lab/worlds/keyed-uniform.ts";
import { calibrate, calibrationIndex, learnCalibration, newCalibration } from "./calibrate.ts";
import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import { classOf, REASONS } from "./model-layout.ts";

type TrueRates = Readonly<Record<string, number>>;

/** Trains with retries of each of these probabilities in turn, approved at the true rates. */
function trainCalibration(model: LearnedModel, truth: TrueRates, rounds: number, from = 0) {
  for (let n = from; n < from + rounds; n++)
    for (const [chance, share] of Object.entries(truth))
      learnCalibration(model, 1, Number(chance), keyedUniform(n, Number(chance) * 1e6, 0, 0) < share);
  return model;
}

function assertNear(actual: number, wanted: number, within: number) {
  assert.ok(Math.abs(actual - wanted) < within, `${actual} is not ${wanted}`);
}

/** Typical of a limit, which ends abruptly. */
const LIMIT_RATES: TrueRates = { 0.06: 0.004, 0.15: 0.03, 0.25: 0.12, 0.45: 0.63, 0.65: 0.7, 0.85: 0.75, 0.95: 0.86 };

test("probabilities that are too high above one half are corrected there, and stay the same elsewhere", () => {
  const model = trainCalibration(newLearnedModel(), { 0.3: 0.3, 0.8: 0.6 }, 4000);
  assertNear(calibrate(model, 1, 0.3), 0.3, 0.03);
  assertNear(calibrate(model, 1, 0.8), 0.6, 0.03);
  assertNear(calibrate(model, 2, 0.8), 0.8, 1e-4);
});

test("probabilities too high at both ends and too low in the middle are each corrected", () => {
  const model = trainCalibration(newLearnedModel(), LIMIT_RATES, 4000);
  for (const [chance, share] of Object.entries(LIMIT_RATES))
    assertNear(calibrate(model, 1, Number(chance)), share, share < 0.02 ? 0.02 : 0.06);
});

test("a correction follows when the true rate changes", () => {
  const model = trainCalibration(newLearnedModel(), { 0.5: 0.2 }, 4000);
  assertNear(calibrate(model, 1, 0.5), 0.2, 0.04);
  trainCalibration(model, { 0.5: 0.7 }, 6000, 4000);
  assertNear(calibrate(model, 1, 0.5), 0.7, 0.05);
});

test("a correction never reverses the order of two probabilities, however few retries there were", () => {
  const untrained = newLearnedModel();
  for (const retryCount of [1, 5, 20, 100]) {
    for (let run = 0; run < 40; run++) {
      const model = trainCalibration({ ...untrained, trim: newCalibration() }, LIMIT_RATES, retryCount, run * 1000);
      let before = 0;
      for (let chance = 0.001; chance < 1; chance += 0.001) {
        const calibrated = calibrate(model, 1, chance);
        assert.ok(
          calibrated >= before - 1e-12,
          `${retryCount} tries, run ${run}: ${before} and then ${calibrated} of ${chance}`,
        );
        before = calibrated;
      }
    }
  }
});

test("extreme outcomes move the probabilities beyond the last knots, and a single surprise moves none far", () => {
  const model = newLearnedModel();
  assertNear(calibrate(model, 1, 0.001), 0.001, 1e-4);
  learnCalibration(model, 1, 0.00001, true);
  assert.ok(calibrate(model, 1, 0.001) < 0.004, `${calibrate(model, 1, 0.001)}`);
  assert.ok(calibrate(model, 1, 0.04) < 0.08, `${calibrate(model, 1, 0.04)}`);
  trainCalibration(model, { 0.99: 0.8 }, 400);
  assert.ok(calibrate(model, 1, 0.999) < 0.99);
  assert.ok(calibrate(model, 1, 0.99) < calibrate(model, 1, 0.999));
  assertNear(calibrate(model, 1, 0.5), 0.5, 1e-3);
});

test("a hundred retries change probabilities little when these are right already", () => {
  let error = 0;
  const chances = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
  for (let run = 0; run < 50; run++) {
    const model = trainCalibration(newLearnedModel(), Object.fromEntries(chances.map((p) => [p, p])), 14, run * 1000);
    for (const chance of chances) error += Math.abs(calibrate(model, 1, chance) - chance) / chances.length / 50;
  }
  assert.ok(error < 0.032, `${error}`);
});

test("each class of reasons has its own curves for first retries and for later ones", () => {
  const numbers = REASONS.flatMap((reason) =>
    [0, 1, 2].map((retryCount) => [classOf(reason), Math.min(1, retryCount), calibrationIndex({ reason, retryCount })]),
  );
  const curves = new Set(numbers.map(([classIndex, stage]) => `${classIndex}:${stage}`));
  assert.equal(new Set(numbers.map(([, , index]) => index)).size, curves.size);
  assert.equal(new Set(numbers.map((number) => number.join())).size, curves.size);
});
