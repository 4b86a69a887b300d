const HOUR_MS = 3_600_000;
/** So many customers' attempts, no further apart than this, say that it is the bank and not a card. */
const CUSTOMERS = 2;
const APART_MS = 6 * HOUR_MS;
/** After the latest of them nothing is tried for so long. Most outages are over by then, and the next attempt in vain says so. */
const WAIT_MS = 3 * HOUR_MS;

/** Sightings older than this say nothing any more. */
export const OUTAGE_KNOWN_MS = APART_MS + WAIT_MS;

/** An attempt that met a bank which could not be reached. */
export interface Sighting {
  /** Whose card it was: any name that tells customers apart. */
  customer: string;
  at: Date;
}

/** When a bank was found down last, if several customers found it so within some hours; null: no outage is known. */
export function downAt(sightings: readonly Sighting[]): Date | null {
  const latest = sightings.reduce<Date | null>((last, { at }) => (last === null || at > last ? at : last), null);
  if (latest === null) return null;
  const near = sightings.filter(({ at }) => latest.getTime() - at.getTime() <= APART_MS);
  return new Set(near.map(({ customer }) => customer)).size >= CUSTOMERS ? latest : null;
}

/** From when on a bank that was found down may be tried again. */
export const upAgainAt = (down: Date): number => down.getTime() + WAIT_MS;
