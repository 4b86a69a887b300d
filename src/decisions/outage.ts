import { HOUR_MS } from "../domain/durations.ts";

/** So many of the latest attempts at a bank are looked at, as far as they are not older than this. */
export const BANK_ATTEMPTS = 8;
export const BANK_ATTEMPTS_MS = 9 * HOUR_MS;
/** This share of them, of so many customers, says that it is the bank and not a card. */
const SHARE = 0.5;
const CUSTOMERS = 2;
/** After the latest of them nothing is tried for so long. Most outages are over by then, and the next attempt in vain says so. */
const WAIT_MS = 3 * HOUR_MS;

/** An attempt at a bank, by whoever. */
export interface BankAttempt {
  /** Whose card it was: any name that tells customers apart. */
  customer: string;
  at: Date;
  /** The bank could not be reached. */
  isDown: boolean;
}

/**
 * When a bank was found down last, if it is down by its latest attempts; null: no outage is known. Some attempts always fail that way, at
 * big merchants every hour, so what counts is their share: answers of any other kind end an outage.
 *
 * @param latest  the latest BANK_ATTEMPTS of the last BANK_ATTEMPTS_MS, in any order
 */
export function downAt(latest: readonly BankAttempt[]): Date | null {
  const down = latest.filter(({ isDown }) => isDown);
  if (down.length < SHARE * latest.length) return null;
  if (new Set(down.map(({ customer }) => customer)).size < CUSTOMERS) return null;
  return down.reduce((last, { at }) => (at > last ? at : last), down[0]!.at);
}

/** From when on a bank that was found down may be tried again. */
export const upAgainAt = (down: Date): number => down.getTime() + WAIT_MS;
