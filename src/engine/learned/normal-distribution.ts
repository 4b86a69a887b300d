/** Beyond, a probability counts as 0 or 1. */
const MAX_SCORE = 6;
const STEPS_PER_UNIT = 64;
const TABLE_STEPS = 2 * MAX_SCORE * STEPS_PER_UNIT;

/** Fits into the L1 cache; a decision needs tens of thousands of values. */
const CDF_TABLE = Float64Array.from({ length: TABLE_STEPS + 1 }, (_, n) =>
  exactNormalCdf(n / STEPS_PER_UNIT - MAX_SCORE),
);

/** Accurate to 8e-6: interpolates. */
export function normalCdf(x: number): number {
  const position = (x + MAX_SCORE) * STEPS_PER_UNIT;
  if (!(position > 0)) return CDF_TABLE[0]!;
  if (position >= TABLE_STEPS) return CDF_TABLE[TABLE_STEPS]!;
  const n = position | 0;
  const low = CDF_TABLE[n]!;
  return low + (position - n) * (CDF_TABLE[n + 1]! - low);
}

function normalDensity(x: number): number {
  return 0.3989422804014327 * Math.exp(-0.5 * x * x);
}

/** By bisection; `p` is limited to the table's range. */
export function probit(p: number): number {
  let low = 0;
  let high = TABLE_STEPS;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (CDF_TABLE[middle]! <= p) low = middle;
    else high = middle;
  }
  const span = CDF_TABLE[high]! - CDF_TABLE[low]!;
  const share = span > 0 ? Math.max(0, Math.min(1, (p - CDF_TABLE[low]!) / span)) : 0;
  return (low + share) / STEPS_PER_UNIT - MAX_SCORE;
}

/** Derivative of log Φ: how strongly an outcome pulls the predicted score `z`, which has the outcome's sign. */
export const logCdfSlope = (z: number) => normalDensity(z) / Math.max(normalCdf(z), 1e-5);

/** Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17: absolute error below 7.5e-8. */
function exactNormalCdf(x: number) {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const poly = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = normalDensity(x) * poly;
  return x >= 0 ? 1 - tail : tail;
}
