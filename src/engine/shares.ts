/** Rounds a fraction to four digits, as it is stored with every decision. */
export const roundShare = (share: number) => Math.round(share * 10_000) / 10_000;

/**
 * Returns whole percent. It rounds to four digits first, as stored values are. Otherwise one fraction could be shown as 12% now
 * and as 13% later.
 */
export const toHundredths = (share: number) => Math.round(roundShare(share) * 100);

/** Formats a fraction as whole percent; one that is stored as more than zero is never shown as 0%. */
export const formatPercent = (share: number) =>
  roundShare(share) > 0 && toHundredths(share) === 0 ? "less than 1%" : `${toHundredths(share)}%`;

/** Formats a fraction with one decimal, for reports: 12.3% */
export const formatTenths = (share: number) => `${(share * 100).toFixed(1)}%`;
