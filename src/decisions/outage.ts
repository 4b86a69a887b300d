import { HOUR_MS } from "../domain/durations.ts";

/** The latest attempts of so many customers say whether a place is down, as far as they are no older than this: what was seen has faded by then. Of a bank so many attempts are read. */
export const LATEST_THERE = 16;
export const LATEST_MS = 36 * HOUR_MS;
/** Those by one way are looked for among so many of all: of a rare way little is found, but one reading serves all ways. */
export const LATEST_OF_ALL = 48;

/** Of attempts at what is well, and at what is down, so many end as if it could not be reached: at some merchants one in seven always does, and an outage need not be whole. */
const WELL_SHARE = 0.15;
const DOWN_SHARE = 0.75;
/** Share of the time that something is down, before any attempt is seen, and how long that lasts on average: minutes at a bank, days at a gateway. */
const USUALLY_DOWN = 0.05;
const LASTS_MS = 12 * HOUR_MS;
/** Held to be down from this chance on. */
const DOWN_FROM = 0.5;
/** After the latest attempt that found it down nothing is tried for so long. The next attempt in vain says whether that was enough. */
const WAIT_MS = 3 * HOUR_MS;

/** An attempt by whoever. */
export interface OthersAttempt {
  /** Who was charged: any name that tells customers apart. */
  customer: string;
  at: Date;
  /** The name of its way to banks; null: nothing is known of it. */
  way: string | null;
  /** The bank could not be reached. */
  isDown: boolean;
}

/** How an attempt was made. */
interface Way {
  paymentGatewayName?: string | undefined;
  paymentMethodType?: string | undefined;
  cardBrand?: string | undefined;
  cardCountry?: string | undefined;
}

/** The name of a way to banks: the gateway, how it is paid, and what card it is; null: nothing is known of it. */
export function wayOf({ paymentGatewayName, paymentMethodType, cardBrand, cardCountry }: Way): string | null {
  const known = [paymentGatewayName, paymentMethodType, cardBrand, cardCountry];
  return known.every((each) => each === undefined) ? null : known.map((each) => each ?? "").join("|");
}

/**
 * When a place was found down last, if it is down by now; null: no outage is known.
 *
 * @param latest  the latest attempts there, in any order
 */
export function downAt(latest: readonly OthersAttempt[], now: Date): Date | null {
  const downs = latest.filter(({ isDown }) => isDown);
  if (downs.length === 0 || downChance(latest, now) < DOWN_FROM) return null;
  return downs.reduce((last, { at }) => (at > last ? at : last), downs[0]!.at);
}

/**
 * Where no bank is named: when the way to banks was found down last, or all ways were, if they are by now.
 *
 * @param latest  the merchant's latest attempts, in any order
 */
export function wayDownAt(latest: readonly OthersAttempt[], way: string | null, now: Date): Date | null {
  const onWay = way === null ? [] : latest.filter((each) => each.way === way);
  return downAt(onWay, now) ?? downAt(latest, now);
}

/** From when on what was found down may be tried again. */
export const upAgainAt = (down: Date): number => down.getTime() + WAIT_MS;

/**
 * The chance that a place is down, by the latest attempts there: a chain of two states that turns by itself, so that what was seen fades. Each customer counts
 * once, by the latest: a card that fails again and again is one card, and hides nobody else's.
 */
function downChance(attempts: readonly OthersAttempt[], now: Date): number {
  const ofCustomers = new Map(attempts.toSorted(inTime).map((each) => [each.customer, each]));
  const latest = [...ofCustomers.values()].sort(inTime).slice(-LATEST_THERE);
  let chance = USUALLY_DOWN;
  let from = Number.NEGATIVE_INFINITY;
  const goTo = (to: number) => {
    chance = USUALLY_DOWN + (chance - USUALLY_DOWN) * Math.exp((from - to) / LASTS_MS);
    from = to;
  };
  for (const { at, isDown } of latest) {
    goTo(at.getTime());
    const down = chance * (isDown ? DOWN_SHARE : 1 - DOWN_SHARE);
    const well = (1 - chance) * (isDown ? WELL_SHARE : 1 - WELL_SHARE);
    chance = down / (down + well);
  }
  goTo(now.getTime());
  return chance;
}

const inTime = (a: OthersAttempt, b: OthersAttempt) => a.at.getTime() - b.at.getTime();
