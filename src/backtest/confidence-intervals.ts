export interface ConfidenceInterval {
  low: number;
  high: number;
}

export interface EstimatedShare {
  share: number;
  /** Clustered by customer. */
  error: number;
  /** The simple random sample with the same precision; independent of outcomes. */
  effective: number;
}

const Z95 = 1.96;
/** With fewer outcomes of the rarer kind, the theoretical variance replaces the measured one. */
const MIN_RARE_OUTCOMES = 4;

/**
 * Wilson's score interval. Two standard errors are too narrow when the share came out too small, because the measured error is
 * then small too. The sample size follows from that error or, if one kind of outcome is rare, from its count.
 */
export function shareInterval({ share, error, effective }: EstimatedShare): ConfidenceInterval {
  const binomial = share * (1 - share) * effective;
  const inflation = ((error * effective) ** 2 + MIN_RARE_OUTCOMES) / (Math.max(0, binomial) + MIN_RARE_OUTCOMES);
  const spread = (Z95 ** 2 * inflation) / effective;
  const middle = share + spread / 2;
  const half = Math.sqrt(Math.max(0, spread * share * (1 - share)) + spread ** 2 / 4);
  return { low: (middle - half) / (1 + spread), high: (middle + half) / (1 + spread) };
}

/**
 * From the intervals of both shares (MOVER; Zou and Donner, 2008).
 *
 * @param correlation  of customers' influence on both shares, -1 to 1
 */
export function differenceInterval(
  one: EstimatedShare,
  other: EstimatedShare,
  ranges: [ConfidenceInterval, ConfidenceInterval],
  correlation: number,
): ConfidenceInterval {
  const [oneRange, otherRange] = ranges;
  const side = (a: number, b: number) => Math.sqrt(Math.max(0, a * a + b * b - 2 * correlation * a * b));
  const difference = one.share - other.share;
  return {
    low: difference - side(one.share - oneRange.low, otherRange.high - other.share),
    high: difference + side(oneRange.high - one.share, other.share - otherRange.low),
  };
}
