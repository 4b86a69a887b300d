import type { Learned } from "./learned.ts";
import { density, phi, probit } from "./normal.ts";

/** Scores Φ⁻¹(p) at which the correction is learned: chances of 5, 21, 50, 79 and 95 %. Between two of them it is a line. */
const KNOTS = [-1.6, -0.8, 0, 0.8, 1.6];
const VARIANCE_START = 0.2;
/** Never surer than this: what choosing puts on a chance changes with what was learned. */
const VARIANCE_MIN = 0.001;
/** How many shifts a class has, one for each knot. */
export const TRIM_SHIFTS = KNOTS.length;
/** Its shifts, then their variances. */
export const TRIM_WIDTH = 2 * TRIM_SHIFTS;

/** Corrects nothing yet. */
export const newTrim = (classes: number) =>
  Float64Array.from({ length: TRIM_WIDTH * classes }, (_, n) => (n % TRIM_WIDTH < TRIM_SHIFTS ? 0 : VARIANCE_START));

/**
 * A chance as experience with chosen tries corrects it: its score is shifted by what the two knots around it say, by class of reason.
 *
 * Whoever picks the best of many uncertain numbers picks those that came out too high; and a limit that is lifted all at once makes chances
 * in the middle too low above one half and too high below. The shifts are learned from the tries that were made, so they take off both.
 */
export function trimmed({ trim }: Learned, of: number, chance: number): number {
  const x = probit(chance);
  const { low, high, share } = around(x);
  const at = of * TRIM_WIDTH;
  return phi(x + (1 - share) * trim[at + low]! + share * trim[at + high]!);
}

/** Learn the correction from one try; `chance` as it was before correction. Assumed-density filtering of a probit. */
export function learnTrim({ trim }: Learned, of: number, chance: number, approved: boolean) {
  const x = probit(chance);
  const { low, high, share } = around(x);
  const at = of * TRIM_WIDTH;
  const sure = at + TRIM_SHIFTS;
  const [left, right] = [1 - share, share];
  const spread = 1 + left * left * trim[sure + low]! + right * right * trim[sure + high]!;
  const scale = 1 / Math.sqrt(spread);
  const sign = approved ? 1 : -1;
  const z = sign * (x + left * trim[at + low]! + right * trim[at + high]!) * scale;
  const pull = density(z) / Math.max(phi(z), 1e-5);
  const narrowing = pull * (pull + z) * scale * scale;
  const move = (knot: number, part: number) => {
    const variance = trim[sure + knot]!;
    trim[at + knot]! += sign * part * variance * pull * scale;
    trim[sure + knot] = Math.max(VARIANCE_MIN, variance * (1 - Math.min(0.9, part * part * variance * narrowing)));
  };
  move(low, left);
  move(high, right);
}

/** The knots around a score, and how far it lies on the way to the higher one; beyond the last knots their own shift holds. */
function around(x: number): { low: number; high: number; share: number } {
  let high = 1;
  while (high < TRIM_SHIFTS - 1 && x > KNOTS[high]!) high++;
  const low = high - 1;
  const share = (x - KNOTS[low]!) / (KNOTS[high]! - KNOTS[low]!);
  return { low, high, share: Math.max(0, Math.min(1, share)) };
}
