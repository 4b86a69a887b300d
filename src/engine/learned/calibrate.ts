import type { CasePosterior } from "./case-posterior.ts";
import type { LearnedModel } from "./learned-model.ts";
import { CLASS_COUNT, classOf } from "./model-layout.ts";
import { logCdfSlope, normalCdf, probit } from "./normal-distribution.ts";

/** Scores Φ⁻¹(p) of 5, 21, 50, 79 and 95%. Linear in between. */
const KNOTS = [-1.6, -0.8, 0, 0.8, 1.6];
const LAST_KNOT = KNOTS.length - 1;
const STAGE_COUNT = 2;
/** By class and stage: one shift per knot, then their variances. */
const CALIBRATION_WIDTH = 2 * KNOTS.length;
const INITIAL_VARIANCE = 0.1;
/** The selection bias changes as the model learns. */
const MIN_VARIANCE = 0.001;
/** For nearly impossible outcomes. */
const MAX_SCORE = 2.5;

export const newCalibration = () =>
  Float64Array.from({ length: CALIBRATION_WIDTH * STAGE_COUNT * CLASS_COUNT }, (_, n) =>
    n % CALIBRATION_WIDTH < KNOTS.length ? 0 : INITIAL_VARIANCE,
  );

/** By class and stage. */
export const calibrationIndex = ({ reason, retryCount }: Pick<CasePosterior, "reason" | "retryCount">) =>
  STAGE_COUNT * classOf(reason) + Math.min(retryCount, STAGE_COUNT - 1);

/**
 * Shifts the probability's score by the two nearest knots, which learned from earlier chosen retries. Corrects for the best of
 * many uncertain estimates being too high. Keeps the order of two probabilities.
 *
 * @param groupIndex  from `calibrationIndex`
 */
export function calibrate({ trim }: LearnedModel, groupIndex: number, chance: number): number {
  const x = probit(chance);
  const { low, high, share } = findKnots(x);
  const at = groupIndex * CALIBRATION_WIDTH;
  let from = Number.NEGATIVE_INFINITY;
  for (let knot = 0; knot <= low; knot++) from = Math.max(from, KNOTS[knot]! + trim[at + knot]!);
  const to = Math.max(from, KNOTS[high]! + trim[at + high]!);
  const beyond = x - Math.max(KNOTS[0]!, Math.min(KNOTS[LAST_KNOT]!, x));
  return normalCdf((1 - share) * from + share * to + beyond);
}

/**
 * Assumed-density filtering of a probit.
 *
 * @param chance  before correction
 */
export function learnCalibration({ trim }: LearnedModel, groupIndex: number, chance: number, approved: boolean) {
  const x = Math.max(-MAX_SCORE, Math.min(MAX_SCORE, probit(chance)));
  const { low, high, share } = findKnots(x);
  const at = groupIndex * CALIBRATION_WIDTH;
  const varianceStart = at + KNOTS.length;
  const [lowShare, highShare] = [1 - share, share];
  const spread =
    1 + lowShare * lowShare * trim[varianceStart + low]! + highShare * highShare * trim[varianceStart + high]!;
  const scale = 1 / Math.sqrt(spread);
  const sign = approved ? 1 : -1;
  const z = sign * (x + lowShare * trim[at + low]! + highShare * trim[at + high]!) * scale;
  const pull = logCdfSlope(z);
  const narrowing = pull * (pull + z) * scale * scale;
  const move = (knot: number, share: number) => {
    const variance = trim[varianceStart + knot]!;
    trim[at + knot]! += sign * share * variance * pull * scale;
    trim[varianceStart + knot] = Math.max(MIN_VARIANCE, variance * (1 - share * share * variance * narrowing));
  };
  move(low, lowShare);
  move(high, highShare);
}

/** `share`: relative position between the knots. */
function findKnots(x: number): { low: number; high: number; share: number } {
  let high = 1;
  while (high < LAST_KNOT && x > KNOTS[high]!) high++;
  const low = high - 1;
  const share = (x - KNOTS[low]!) / (KNOTS[high]! - KNOTS[low]!);
  return { low, high, share: Math.max(0, Math.min(1, share)) };
}
