import type { Belief } from "./belief.ts";
import { CLASS_COUNT, classOf } from "./layout.ts";
import type { Learned } from "./learned.ts";
import { phi, probit, pullOf } from "./normal.ts";

/** Scores Φ⁻¹(p) at which the correction is learned: chances of 5, 21, 50, 79 and 95 %. Between two of them it is a line. */
const KNOTS = [-1.6, -0.8, 0, 0.8, 1.6];
const LAST = KNOTS.length - 1;
/** A first try is corrected by what came of first tries, a later one by what came of later ones. */
const STAGES = 2;
/** Of each class and stage: its shifts, one for each knot, then their variances. */
const WIDTH = 2 * KNOTS.length;
const VARIANCE_START = 0.1;
/** Never surer than this: what choosing puts on a chance changes with what was learned. */
const VARIANCE_MIN = 0.001;
/** One outcome that was held to be next to impossible says no more than one beyond this score. */
const REACH = 2.5;

/** Corrects nothing yet. */
export const newTrim = () =>
  Float64Array.from({ length: WIDTH * STAGES * CLASS_COUNT }, (_, n) =>
    n % WIDTH < KNOTS.length ? 0 : VARIANCE_START,
  );

/** By what the next try of a case is corrected: the number of its class and stage. */
export const trimOf = ({ reason, tries }: Pick<Belief, "reason" | "tries">) =>
  STAGES * classOf(reason) + Math.min(tries, STAGES - 1);

/**
 * A chance as experience with chosen tries corrects it: its score is shifted by what the two knots around it say, by class of reason, and apart
 * for first tries and later ones.
 *
 * Whoever picks the best of many uncertain numbers picks those that came out too high; and where a limit is lifted all at once, low chances
 * and high ones come out too high, and those around one half too low. The shifts are learned from the tries that were made, so they take off
 * both. A higher chance is never corrected to a lower one.
 *
 * @param of  as `trimOf` says
 */
export function trimmed({ trim }: Learned, of: number, chance: number): number {
  const x = probit(chance);
  const { low, high, share } = around(x);
  const at = of * WIDTH;
  let from = Number.NEGATIVE_INFINITY;
  for (let knot = 0; knot <= low; knot++) from = Math.max(from, KNOTS[knot]! + trim[at + knot]!);
  const to = Math.max(from, KNOTS[high]! + trim[at + high]!);
  const beyond = x - Math.max(KNOTS[0]!, Math.min(KNOTS[LAST]!, x));
  return phi((1 - share) * from + share * to + beyond);
}

/** Learn the correction from one try; `chance` as it was before correction. Assumed-density filtering of a probit. */
export function learnTrim({ trim }: Learned, of: number, chance: number, approved: boolean) {
  const x = Math.max(-REACH, Math.min(REACH, probit(chance)));
  const { low, high, share } = around(x);
  const at = of * WIDTH;
  const sure = at + KNOTS.length;
  const [left, right] = [1 - share, share];
  const spread = 1 + left * left * trim[sure + low]! + right * right * trim[sure + high]!;
  const scale = 1 / Math.sqrt(spread);
  const sign = approved ? 1 : -1;
  const z = sign * (x + left * trim[at + low]! + right * trim[at + high]!) * scale;
  const pull = pullOf(z);
  const narrowing = pull * (pull + z) * scale * scale;
  const move = (knot: number, part: number) => {
    const variance = trim[sure + knot]!;
    trim[at + knot]! += sign * part * variance * pull * scale;
    trim[sure + knot] = Math.max(VARIANCE_MIN, variance * (1 - part * part * variance * narrowing));
  };
  move(low, left);
  move(high, right);
}

/** The knots around a score, and how far it lies on the way to the higher one; beyond the last knots their own shift holds. */
function around(x: number): { low: number; high: number; share: number } {
  let high = 1;
  while (high < LAST && x > KNOTS[high]!) high++;
  const low = high - 1;
  const share = (x - KNOTS[low]!) / (KNOTS[high]! - KNOTS[low]!);
  return { low, high, share: Math.max(0, Math.min(1, share)) };
}
