/** A share to the ten-thousandth, as it is kept: nobody reads more digits, and each is stored with every decision. */
export const rounded = (share: number) => Math.round(share * 10_000) / 10_000;

/** A share in whole hundredths: of what is kept, or one that is not kept would differ from itself beside others. */
export const hundredths = (share: number) => Math.round(rounded(share) * 100);

/** A share as it is said to people: what is little is not nothing. */
export const percent = (share: number) =>
  rounded(share) > 0 && hundredths(share) === 0 ? "less than 1%" : `${hundredths(share)}%`;
