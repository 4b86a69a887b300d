import { HOUR_MS } from "../domain/durations.ts";

/** The latest attempts of so many customers say whether a place is down, as far as they are no older than this: what was seen has faded by then. Of a bank so many attempts are read. */
export const MAX_ATTEMPTS_AT_PLACE = 16;
export const OUTAGE_LOOKBACK_MS = 36 * HOUR_MS;
/** Those by one way are looked for among so many of all: of a rare way little is found, but one reading serves all ways. */
export const MAX_ATTEMPTS_OVERALL = 48;

/** Of attempts at what is well, and at what is down, so many end as if it could not be reached: at some merchants one in seven always does, and an outage need not be whole. */
const UNREACHABLE_RATE_WHEN_UP = 0.15;
const UNREACHABLE_RATE_WHEN_DOWN = 0.75;
/** Share of the time that something is down, before any attempt is seen, and how long that lasts on average: minutes at a bank, days at a gateway. */
const USUAL_DOWN_RATE = 0.05;
const MEAN_OUTAGE_MS = 12 * HOUR_MS;
/** Held to be down from this chance on. */
const MIN_DOWN_CHANCE = 0.5;
/** After the latest attempt that found it down nothing is tried for so long. The next attempt in vain says whether that was enough. */
const OUTAGE_WAIT_MS = 3 * HOUR_MS;

/** An attempt by whoever. */
export interface OutageEvidence {
  /** Who was charged: any name that tells customers apart. */
  customer: string;
  at: Date;
  /** The name of its way to banks; null: nothing is known of it. */
  way: string | null;
  /** The bank could not be reached. */
  isDown: boolean;
}

/** How an attempt was made. */
interface RouteFields {
  paymentGatewayName?: string | undefined;
  paymentMethodType?: string | undefined;
  cardBrand?: string | undefined;
  cardCountry?: string | undefined;
}

/** The name of a way to banks: the gateway, how it is paid, and what card it is; null: nothing is known of it. */
export function routeOf({ paymentGatewayName, paymentMethodType, cardBrand, cardCountry }: RouteFields): string | null {
  const known = [paymentGatewayName, paymentMethodType, cardBrand, cardCountry];
  return known.every((each) => each === undefined) ? null : known.map((each) => each ?? "").join("|");
}

/**
 * When a place was found down last, if it is down by now; null: no outage is known.
 *
 * @param latest  the latest attempts there, in any order
 */
export function findDownTime(latest: readonly OutageEvidence[], now: Date): Date | null {
  const downs = latest.filter(({ isDown }) => isDown);
  if (downs.length === 0 || downChance(latest, now) < MIN_DOWN_CHANCE) return null;
  return downs.reduce((last, { at }) => (at > last ? at : last), downs[0]!.at);
}

/**
 * Where no bank is named: when the way to banks was found down last, or all ways were, if they are by now.
 *
 * @param latest  the merchant's latest attempts, in any order
 */
export function findRouteDownTime(latest: readonly OutageEvidence[], way: string | null, now: Date): Date | null {
  const onWay = way === null ? [] : latest.filter((each) => each.way === way);
  return findDownTime(onWay, now) ?? findDownTime(latest, now);
}

/** From when on what was found down may be tried again. */
export const outageWaitEnd = (down: Date): number => down.getTime() + OUTAGE_WAIT_MS;

/**
 * The chance that a place is down, by the latest attempts there: a chain of two states that turns by itself, so that what was seen fades. Each customer counts
 * once, by the latest: a card that fails again and again is one card, and hides nobody else's.
 */
function downChance(attempts: readonly OutageEvidence[], now: Date): number {
  const ofCustomers = new Map(attempts.toSorted(byTime).map((each) => [each.customer, each]));
  const latest = [...ofCustomers.values()].sort(byTime).slice(-MAX_ATTEMPTS_AT_PLACE);
  let chance = USUAL_DOWN_RATE;
  let from = Number.NEGATIVE_INFINITY;
  const goTo = (to: number) => {
    chance = USUAL_DOWN_RATE + (chance - USUAL_DOWN_RATE) * Math.exp((from - to) / MEAN_OUTAGE_MS);
    from = to;
  };
  for (const { at, isDown } of latest) {
    goTo(at.getTime());
    const down = chance * (isDown ? UNREACHABLE_RATE_WHEN_DOWN : 1 - UNREACHABLE_RATE_WHEN_DOWN);
    const well = (1 - chance) * (isDown ? UNREACHABLE_RATE_WHEN_UP : 1 - UNREACHABLE_RATE_WHEN_UP);
    chance = down / (down + well);
  }
  goTo(now.getTime());
  return chance;
}

const byTime = (a: OutageEvidence, b: OutageEvidence) => a.at.getTime() - b.at.getTime();
