import type { CasePosterior } from "./case-posterior.ts";
import type { LearnedModel } from "./learned-model.ts";
import { CLASS_COUNT, classOf } from "./model-layout.ts";
import { logCdfSlope, normalCdf, probit } from "./normal-distribution.ts";

/** Scores Φ⁻¹(p) at which the correction is learned: chances of 5, 21, 50, 79 and 95 %. Between two of them it is a line. */
const KNOTS = [-1.6, -0.8, 0, 0.8, 1.6];
const LAST_KNOT = KNOTS.length - 1;
/** A first try is corrected by what came of first tries, a later one by what came of later ones. */
const STAGE_COUNT = 2;
/** Of each class and stage: its shifts, one for each knot, then their variances. */
const CALIBRATION_WIDTH = 2 * KNOTS.length;
const INITIAL_VARIANCE = 0.1;
/** Never surer than this: what choosing puts on a chance changes with what was learned. */
const MIN_VARIANCE = 0.001;
/** One outcome that was held to be next to impossible says no more than one beyond this score. */
const MAX_SCORE = 2.5;

/** Corrects nothing yet. */
export const newCalibration = () =>
  Float64Array.from({ length: CALIBRATION_WIDTH * STAGE_COUNT * CLASS_COUNT }, (_, n) =>
    n % CALIBRATION_WIDTH < KNOTS.length ? 0 : INITIAL_VARIANCE,
  );

/** By what the next try of a case is corrected: the number of its class and stage. */
export const calibrationIndex = ({ reason, tries }: Pick<CasePosterior, "reason" | "tries">) =>
  STAGE_COUNT * classOf(reason) + Math.min(tries, STAGE_COUNT - 1);

/**
 * A chance as experience with chosen tries corrects it: its score is shifted by what the two knots around it say, by class of reason, and apart
 * for first tries and later ones.
 *
 * Whoever picks the best of many uncertain numbers picks those that came out too high; and where a limit is lifted all at once, low chances
 * and high ones come out too high, and those around one half too low. The shifts are learned from the tries that were made, so they take off
 * both. A higher chance is never corrected to a lower one.
 *
 * @param of  as `calibrationIndex` says
 */
export function calibrate({ trim }: LearnedModel, of: number, chance: number): number {
  const x = probit(chance);
  const { low, high, share } = findKnots(x);
  const at = of * CALIBRATION_WIDTH;
  let from = Number.NEGATIVE_INFINITY;
  for (let knot = 0; knot <= low; knot++) from = Math.max(from, KNOTS[knot]! + trim[at + knot]!);
  const to = Math.max(from, KNOTS[high]! + trim[at + high]!);
  const beyond = x - Math.max(KNOTS[0]!, Math.min(KNOTS[LAST_KNOT]!, x));
  return normalCdf((1 - share) * from + share * to + beyond);
}

/** Learn the correction from one try; `chance` as it was before correction. Assumed-density filtering of a probit. */
export function learnCalibration({ trim }: LearnedModel, of: number, chance: number, approved: boolean) {
  const x = Math.max(-MAX_SCORE, Math.min(MAX_SCORE, probit(chance)));
  const { low, high, share } = findKnots(x);
  const at = of * CALIBRATION_WIDTH;
  const sure = at + KNOTS.length;
  const [left, right] = [1 - share, share];
  const spread = 1 + left * left * trim[sure + low]! + right * right * trim[sure + high]!;
  const scale = 1 / Math.sqrt(spread);
  const sign = approved ? 1 : -1;
  const z = sign * (x + left * trim[at + low]! + right * trim[at + high]!) * scale;
  const pull = logCdfSlope(z);
  const narrowing = pull * (pull + z) * scale * scale;
  const move = (knot: number, part: number) => {
    const variance = trim[sure + knot]!;
    trim[at + knot]! += sign * part * variance * pull * scale;
    trim[sure + knot] = Math.max(MIN_VARIANCE, variance * (1 - part * part * variance * narrowing));
  };
  move(low, left);
  move(high, right);
}

/** The knots around a score, and how far it lies on the way to the higher one; beyond the last knots their own shift holds. */
function findKnots(x: number): { low: number; high: number; share: number } {
  let high = 1;
  while (high < LAST_KNOT && x > KNOTS[high]!) high++;
  const low = high - 1;
  const share = (x - KNOTS[low]!) / (KNOTS[high]! - KNOTS[low]!);
  return { low, high, share: Math.max(0, Math.min(1, share)) };
}
