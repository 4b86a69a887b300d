const DECIMALS_MAX = 12;

/**
 * The size of a share in points of a hundred: 0.0312 is "3.1". More decimals where it would read as a limit that it is not, so that a range above nothing
 * does not begin at 0.0.
 *
 * @param limits  shares that a reader compares it with, besides nothing
 */
export function formatSharePoints(share: number, ...limits: readonly number[]): string {
  const size = Math.abs(share);
  const others = [0, ...limits].filter((limit) => limit !== size);
  const written = (value: number, decimals: number) => (value * 100).toFixed(decimals);
  let decimals = 1;
  while (decimals < DECIMALS_MAX && others.some((limit) => written(limit, decimals) === written(size, decimals)))
    decimals++;
  return written(size, decimals);
}

/** The smallest difference that matters, in points, as it was chosen: 0.03 is "3.0", 0.0025 is "0.25". */
export function formatMarginPoints(margin: number): string {
  const points = String(Number((margin * 100).toFixed(DECIMALS_MAX)));
  return points.includes(".") ? points : `${points}.0`;
}
