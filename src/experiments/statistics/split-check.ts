/** The check detects an imbalance of this size fastest: 51% instead of 50%. */
const DETECTED_IMBALANCE = 0.01;

/**
 * Whether the arms do not match `share`. Valid at any time: a correct split is ever reported with a probability of at most
 * `alpha`.
 *
 * @param treated  how many of `customers` are in the arm
 */
export const isSplitImbalanced = (share: number, treated: number, customers: number, alpha: number): boolean =>
  splitEvidence(share, treated, customers) > -Math.log(alpha);

/** Returns the smallest `alpha` at which the split would be reported, at most 1. It may be read at any time. */
export const splitPValue = (share: number, treated: number, customers: number): number =>
  Math.min(1, Math.exp(-splitEvidence(share, treated, customers)));

/**
 * Compares the likelihoods under nearby shares with the one under `share`. By Ville's inequality the mean ratio is rarely large.
 * Exact, so it also holds for small arms.
 *
 * @returns the logarithm of the ratio
 */
function splitEvidence(share: number, treated: number, customers: number): number {
  const untreated = customers - treated;
  // Nearby shares follow a beta distribution with mean `share` and standard deviation DETECTED_IMBALANCE.
  const concentration = (share * (1 - share)) / DETECTED_IMBALANCE ** 2 - 1;
  const [a, b] = [share * concentration, (1 - share) * concentration];
  return (
    logBeta(a + treated, b + untreated) - logBeta(a, b) - treated * Math.log(share) - untreated * Math.log1p(-share)
  );
}

const logBeta = (a: number, b: number) => logGamma(a) + logGamma(b) - logGamma(a + b);

/** Stirling's series: from 15 on, four terms reach floating-point precision. */
function logGamma(x: number): number {
  if (x < 15) return logGamma(x + 1) - Math.log(x);
  const square = 1 / (x * x);
  const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series;
}
