/** A split is off by this much where the check is at its best: 51 to 49, soon enough to matter. */
const DETECTED_IMBALANCE = 0.01;

/**
 * Whether the customers are not split as they were drawn, whenever and however often one asks: a chance of at most `alpha` for ever that it is said of
 * customers who are. Each is drawn with a known chance, so no approximation is needed, which would be wrong for small arms: what the split would be by
 * any other share, those near the drawn one above all, is held against what it is by that one, and the mean of such ratios is hardly ever
 * large (Ville's inequality).
 *
 * @param share  of the customers that the arm was to get
 * @param treated  of `customers`, those who came into it
 */
export function isSplitImbalanced(share: number, treated: number, customers: number, alpha: number): boolean {
  const others = customers - treated;
  // Shares as a beta distribution has them, with the drawn one as its mean and the scale as its deviation.
  const size = (share * (1 - share)) / DETECTED_IMBALANCE ** 2 - 1;
  const [a, b] = [share * size, (1 - share) * size];
  const evidence =
    logBeta(a + treated, b + others) - logBeta(a, b) - treated * Math.log(share) - others * Math.log1p(-share);
  return evidence > -Math.log(alpha);
}

const logBeta = (a: number, b: number) => logGamma(a) + logGamma(b) - logGamma(a + b);

/** Stirling's series, from where four of its terms are as exact as a number can be. */
function logGamma(x: number): number {
  if (x < 15) return logGamma(x + 1) - Math.log(x);
  const square = 1 / (x * x);
  const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}
