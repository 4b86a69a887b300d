/**
 * Returns half the width of a confidence sequence: an interval that stays valid however often it is checked, even if a result
 * ends the experiment.
 *
 * The estimate sums many small parts, so it moves like a Brownian motion. Robbins' mixture bounds the whole path: the truth is
 * ever outside with a probability of at most `alpha`. At `scale` the interval is about 1.5 times as wide as one for a single
 * check.
 *
 * @param variance  current variance of the estimate, above 0
 * @param scale  the difference at which the interval is narrowest for its data; any value is valid
 * @see docs/decisions/0014-experiments.md
 */
export function sequenceHalfWidth(variance: number, scale: number, alpha: number): number {
  const information = (scale * scale) / variance;
  return Math.sqrt(variance * (1 + 1 / information) * (Math.log1p(information) - 2 * Math.log(alpha)));
}

/** Returns the variance at which `sequenceHalfWidth` equals `width`. */
export function varianceFor(width: number, scale: number, alpha: number): number {
  let low = 0;
  let high = width * width;
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2;
    if (sequenceHalfWidth(middle, scale, alpha) > width) high = middle;
    else low = middle;
  }
  return low;
}
