/** A share to the ten-thousandth, as it is kept: nobody reads more digits, and each is stored with every decision. */
export const rounded = (share: number) => Math.round(share * 10_000) / 10_000;

/** A share in whole hundredths. Rounded twice, as one that was kept is: else the same share could be said as 12% when it is decided and as 13% later. */
export const hundredths = (share: number) => Math.round(rounded(share) * 100);

/** A share as it is said to people; one that is kept as more than nothing is never 0%. */
export const percent = (share: number) =>
  rounded(share) > 0 && hundredths(share) === 0 ? "less than 1%" : `${hundredths(share)}%`;

/** The same to the tenth, as reports say it: 12.3% */
export const tenths = (share: number) => `${(share * 100).toFixed(1)}%`;
