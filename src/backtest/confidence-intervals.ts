/** Between what the truth lies, in 95 of 100 such cases. */
export interface ConfidenceInterval {
  low: number;
  high: number;
}

/** A share that was estimated. */
export interface EstimatedShare {
  share: number;
  /** Its standard error, from how far each customer moved it. */
  error: number;
  /** So many invoices drawn at random would tell as much; known before any outcome is looked at. */
  effective: number;
}

const Z95 = 1.96;
/** Of fewer outcomes of the rarer kind than about this, how much they scatter is told by theory rather than by themselves. */
const MIN_RARE_OUTCOMES = 4;

/**
 * The range of a share, by Wilson's score. A standard error that is measured beside few successes is small where the share came out too small, so that plus and
 * minus two of it miss the truth on that side: at a truth of 1 % one range in six did. The score asks for each possible truth how far from it the share would
 * come out. How many invoices that takes the measured error says, and where outcomes of one kind are few, their number.
 */
export function shareInterval({ share, error, effective }: EstimatedShare): ConfidenceInterval {
  const binomial = share * (1 - share) * effective;
  const scatter = ((error * effective) ** 2 + MIN_RARE_OUTCOMES) / (Math.max(0, binomial) + MIN_RARE_OUTCOMES);
  const spread = (Z95 ** 2 * scatter) / effective;
  const middle = share + spread / 2;
  const half = Math.sqrt(Math.max(0, spread * share * (1 - share)) + spread ** 2 / 4);
  return { low: (middle - half) / (1 + spread), high: (middle + half) / (1 + spread) };
}

/**
 * The range of a difference of two shares from those of both (MOVER; Zou and Donner, 2008): each side is as wide as the sides of the two that make it.
 *
 * @param correlation  how far customers move both alike, -1 to 1
 */
export function differenceInterval(
  one: EstimatedShare,
  other: EstimatedShare,
  ranges: [ConfidenceInterval, ConfidenceInterval],
  correlation: number,
): ConfidenceInterval {
  const [mine, theirs] = ranges;
  const side = (a: number, b: number) => Math.sqrt(Math.max(0, a * a + b * b - 2 * correlation * a * b));
  const difference = one.share - other.share;
  return {
    low: difference - side(one.share - mine.low, theirs.high - other.share),
    high: difference + side(mine.high - one.share, other.share - theirs.low),
  };
}
