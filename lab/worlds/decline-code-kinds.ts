const TEMPORARY_CODES: ReadonlySet<string> = new Set(["51", "05", "61", "59", "65"]);
const GONE_CARD_CODES: ReadonlySet<string> = new Set(["14", "41", "43", "46"]);

/** Not about the card or the issuer's systems. */
export const isTemporaryDecline = (code: string) => TEMPORARY_CODES.has(code);

/**
 * @param isUpdated  whether an account updater knows the new card
 * @param draw  issuers do not always give advice
 */
export function cardAdvice(code: string, isUpdated: boolean, draw: number): string | null {
  if (code === "R1") return "21";
  if (GONE_CARD_CODES.has(code) && draw < 0.7) return "03";
  return code === "54" && isUpdated && draw < 0.5 ? "01" : null;
}
