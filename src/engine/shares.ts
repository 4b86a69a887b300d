/** A share to the ten-thousandth, as it is kept: nobody reads more digits, and each is stored with every decision. */
export const roundShare = (share: number) => Math.round(share * 10_000) / 10_000;

/** A share in whole hundredths. Rounded twice, as one that was kept is: else the same share could be said as 12% when it is decided and as 13% later. */
export const toHundredths = (share: number) => Math.round(roundShare(share) * 100);

/** A share as it is said to people; one that is kept as more than nothing is never 0%. */
export const formatPercent = (share: number) =>
  roundShare(share) > 0 && toHundredths(share) === 0 ? "less than 1%" : `${toHundredths(share)}%`;

/** The same to the tenth, as reports say it: 12.3% */
export const formatTenths = (share: number) => `${(share * 100).toFixed(1)}%`;
