/** To four digits, as stored with every decision. */
export const roundShare = (share: number) => Math.round(share * 10_000) / 10_000;

/** Whole percent of the stored value, or a fraction could show as 12% now and 13% later. */
export const toHundredths = (share: number) => Math.round(roundShare(share) * 100);

/** A stored fraction above zero never shows as 0%. */
export const formatPercent = (share: number) =>
  roundShare(share) > 0 && toHundredths(share) === 0 ? "less than 1%" : `${toHundredths(share)}%`;

/** For reports: 12.3% */
export const formatTenths = (share: number) => `${(share * 100).toFixed(1)}%`;
