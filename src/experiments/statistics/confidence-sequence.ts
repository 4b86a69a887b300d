/**
 * Half the width of an interval that may be looked at as often as one likes.
 *
 * The estimate is a sum of many small parts, so seen over time it moves as a Brownian motion does. Robbins' mixture bounds
 * the whole path: the chance that the truth is ever outside is at most `alpha`, whenever and however often one looks, and one
 * may stop because of what one sees. For a fixed look the same data would give a narrower interval, at the `scale` by about
 * 1.5 times.
 *
 * @param variance  of the estimate, by now; above 0
 * @param scale  the difference at which the interval is to be narrowest for its data; any other one is as valid
 * @see docs/decisions/0014-experiments.md
 */
export function sequenceHalfWidth(variance: number, scale: number, alpha: number): number {
  const information = (scale * scale) / variance;
  return Math.sqrt(variance * (1 + 1 / information) * (Math.log1p(information) - 2 * Math.log(alpha)));
}

/** The variance at which `sequenceHalfWidth` comes down to `width`. */
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
