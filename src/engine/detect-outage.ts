import { HOUR_MS } from "../domain/durations.ts";

export const MAX_ATTEMPTS_AT_PLACE = 16;
export const OUTAGE_LOOKBACK_MS = 36 * HOUR_MS;
/** Covers rare routes poorly, but one query serves all. */
export const MAX_ATTEMPTS_OVERALL = 48;

/** Fraction of attempts. At some merchants one in seven is always unreachable; an outage need not be complete. */
const UNREACHABLE_RATE_WHEN_UP = 0.15;
const UNREACHABLE_RATE_WHEN_DOWN = 0.75;
/** Minutes at a bank, days at a gateway. */
const USUAL_DOWN_RATE = 0.05;
const MEAN_OUTAGE_MS = 12 * HOUR_MS;
const MIN_DOWN_CHANCE = 0.5;
/** After the latest unreachable attempt. */
const OUTAGE_WAIT_MS = 3 * HOUR_MS;

export interface OutageEvidence {
  customer: string;
  at: Date;
  /** From `routeOf`. */
  route: string | null;
  isDown: boolean;
}

interface RouteFields {
  paymentGatewayName?: string | undefined;
  paymentMethodType?: string | undefined;
  cardBrand?: string | undefined;
  cardCountry?: string | undefined;
}

/** Null if all are unknown. */
export function routeOf({ paymentGatewayName, paymentMethodType, cardBrand, cardCountry }: RouteFields): string | null {
  const names = [paymentGatewayName, paymentMethodType, cardBrand, cardCountry];
  return names.every((name) => name === undefined) ? null : names.map((name) => name ?? "").join("|");
}

/** A place's last unreachable time if down now; null: no known outage. Any order. */
export function findDownTime(latest: readonly OutageEvidence[], now: Date): Date | null {
  const downs = latest.filter(({ isDown }) => isDown);
  if (downs.length === 0 || downChance(latest, now) < MIN_DOWN_CHANCE) return null;
  return downs.reduce((last, { at }) => (at > last ? at : last), downs[0]!.at);
}

/** For attempts that name no bank; `route` null: all routes. */
export function findRouteDownTime(latest: readonly OutageEvidence[], route: string | null, now: Date): Date | null {
  const onRoute = route === null ? [] : latest.filter((attempt) => attempt.route === route);
  return findDownTime(onRoute, now) ?? findDownTime(latest, now);
}

export const outageWaitEnd = (down: Date): number => down.getTime() + OUTAGE_WAIT_MS;

/** A two-state Markov chain whose memory fades. Each customer counts once: a card that fails repeatedly hides no other one. */
function downChance(attempts: readonly OutageEvidence[], now: Date): number {
  const ofCustomers = new Map(attempts.toSorted(byTime).map((attempt) => [attempt.customer, attempt]));
  const latest = [...ofCustomers.values()].sort(byTime).slice(-MAX_ATTEMPTS_AT_PLACE);
  let downProbability = USUAL_DOWN_RATE;
  let from = Number.NEGATIVE_INFINITY;
  const advanceTo = (until: number) => {
    downProbability = USUAL_DOWN_RATE + (downProbability - USUAL_DOWN_RATE) * Math.exp((from - until) / MEAN_OUTAGE_MS);
    from = until;
  };
  for (const { at, isDown } of latest) {
    advanceTo(at.getTime());
    const down = downProbability * (isDown ? UNREACHABLE_RATE_WHEN_DOWN : 1 - UNREACHABLE_RATE_WHEN_DOWN);
    const well = (1 - downProbability) * (isDown ? UNREACHABLE_RATE_WHEN_UP : 1 - UNREACHABLE_RATE_WHEN_UP);
    downProbability = down / (down + well);
  }
  advanceTo(now.getTime());
  return downProbability;
}

const byTime = (a: OutageEvidence, b: OutageEvidence) => a.at.getTime() - b.at.getTime();
