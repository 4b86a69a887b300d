import { HOUR_MS } from "../domain/durations.ts";

/** The number of latest attempts at a bank that are read, and their maximum age: older ones say nothing any more. */
export const MAX_ATTEMPTS_AT_PLACE = 16;
export const OUTAGE_LOOKBACK_MS = 36 * HOUR_MS;
/**
 * The number of latest attempts that are read for all routes together. It covers rare routes poorly, but one query serves all.
 */
export const MAX_ATTEMPTS_OVERALL = 48;

/**
 * Fraction of attempts that fail as unreachable when a place is up, and when it is down. At some merchants one attempt in seven
 * always does, and an outage need not be complete.
 */
const UNREACHABLE_RATE_WHEN_UP = 0.15;
const UNREACHABLE_RATE_WHEN_DOWN = 0.75;
/** Prior fraction of time that a place is down, and the mean length of an outage: minutes at a bank, days at a gateway. */
const USUAL_DOWN_RATE = 0.05;
const MEAN_OUTAGE_MS = 12 * HOUR_MS;
/** The probability from which a place counts as down. */
const MIN_DOWN_CHANCE = 0.5;
/** No retry is made this long after the latest unreachable attempt. The next one shows whether that was enough. */
const OUTAGE_WAIT_MS = 3 * HOUR_MS;

/** An attempt of any customer. */
export interface OutageEvidence {
  /** A name that tells customers apart. */
  customer: string;
  at: Date;
  /** The route to the banks, from `routeOf`; null if unknown. */
  way: string | null;
  /** Whether the bank could not be reached. */
  isDown: boolean;
}

interface RouteFields {
  paymentGatewayName?: string | undefined;
  paymentMethodType?: string | undefined;
  cardBrand?: string | undefined;
  cardCountry?: string | undefined;
}

/** Returns a name for a route to banks: gateway, payment method and card; null if all are unknown. */
export function routeOf({ paymentGatewayName, paymentMethodType, cardBrand, cardCountry }: RouteFields): string | null {
  const known = [paymentGatewayName, paymentMethodType, cardBrand, cardCountry];
  return known.every((each) => each === undefined) ? null : known.map((each) => each ?? "").join("|");
}

/**
 * Returns the last time at which a place was unreachable, if it is down now; null: no outage is known.
 *
 * @param latest  the latest attempts there, in any order
 */
export function findDownTime(latest: readonly OutageEvidence[], now: Date): Date | null {
  const downs = latest.filter(({ isDown }) => isDown);
  if (downs.length === 0 || downChance(latest, now) < MIN_DOWN_CHANCE) return null;
  return downs.reduce((last, { at }) => (at > last ? at : last), downs[0]!.at);
}

/**
 * Returns the last time at which the route to the banks, or all routes, were unreachable, if they are down now. For attempts that
 * name no bank.
 *
 * @param latest  the merchant's latest attempts, in any order
 */
export function findRouteDownTime(latest: readonly OutageEvidence[], way: string | null, now: Date): Date | null {
  const onWay = way === null ? [] : latest.filter((each) => each.way === way);
  return findDownTime(onWay, now) ?? findDownTime(latest, now);
}

/** Returns when a place that was down may be tried again. */
export const outageWaitEnd = (down: Date): number => down.getTime() + OUTAGE_WAIT_MS;

/**
 * Computes the probability that a place is down from the latest attempts there, by a Markov chain of two states whose memory
 * fades. Each customer counts once, with the latest attempt: a card that fails repeatedly is one card, and hides no other one.
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
