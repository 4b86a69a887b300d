const DECIMALS_MAX = 12;

/**
 * Formats a share's size in percentage points: 0.0312 is "3.1". Adds decimals until the text differs from 0 and the limits,
 * so that a range above 0 does not start at "0.0".
 *
 * @param limits  shares that a reader compares with this one
 */
export function formatSharePoints(share: number, ...limits: readonly number[]): string {
  const size = Math.abs(share);
  const otherLimits = [0, ...limits].filter((limit) => limit !== size);
  const format = (value: number, decimals: number) => (value * 100).toFixed(decimals);
  let decimals = 1;
  while (decimals < DECIMALS_MAX && otherLimits.some((limit) => format(limit, decimals) === format(size, decimals)))
    decimals++;
  return format(size, decimals);
}

/** Formats a margin with the decimals that were entered: 0.03 is "3.0", 0.0025 is "0.25". */
export function formatMarginPoints(margin: number): string {
  const points = String(Number((margin * 100).toFixed(DECIMALS_MAX)));
  return points.includes(".") ? points : `${points}.0`;
}
