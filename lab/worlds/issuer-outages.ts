import { DAY_MS, HOUR_MS } from "./keyed-uniform.ts";
import type { RandomStream } from "./random-stream.ts";

interface Outage {
  startsAt: number;
  endsAt: number;
  code: string;
}

/**
 * The outages of an issuer, in order of time. Each issuer has its own rate; an outage lasts from minutes to a day and affects all
 * its cards.
 */
export interface IssuerOutages {
  outages: readonly Outage[];
  medianMs: number;
  /** Share of charges that meet an outage, over the year. */
  usuallyDown: number;
}

/** Standard deviation of the logarithm of an outage's length: from minutes to a day. */
const LENGTH_DEVIATION = 1.35;
/** Mean length over median, as no outage is longer than a day. */
const MEAN_TO_MEDIAN = 2.2;
/** Share of charges that meet the outage; the others are routed around it. */
const AFFECTED_CHARGE_RATE = 0.92;
/** Share of outages that begin with maintenance at night. */
const MAINTENANCE_RATE = 0.3;

/** How often and how long an issuer is down. */
export interface OutageRates {
  /** How many outages begin in 30 days. */
  perMonth: number;
  medianMs: number;
  /** Maintenance begins between 02:00 and 04:00 there. */
  utcOffsetHours: number;
}

/** Creates the outages of one issuer from `from` to `to`, in ms. */
export function createOutages(
  seed: number,
  issuer: number,
  from: number,
  to: number,
  upkeep: OutageRates,
  luck: RandomStream,
): IssuerOutages {
  const { perMonth, medianMs, utcOffsetHours } = upkeep;
  const outages: Outage[] = [];
  const nightMs = ((26 - utcOffsetHours) % 24) * HOUR_MS;
  let at = from;
  for (;;) {
    luck.begin(seed, issuer, outages.length, 102);
    at += (-Math.log(1 - luck.draw()) * 30 * DAY_MS) / perMonth;
    if (at > to) break;
    const isPlanned = luck.draw() < MAINTENANCE_RATE;
    const startsAt = isPlanned ? Math.floor(at / DAY_MS) * DAY_MS + nightMs + 2 * HOUR_MS * luck.draw() : at;
    const endsAt = startsAt + Math.min(DAY_MS, medianMs * Math.exp(LENGTH_DEVIATION * luck.bell()));
    outages.push({ startsAt, endsAt, code: luck.draw() < 0.75 ? "91" : "96" });
    at = Math.max(at, endsAt);
  }
  return {
    outages,
    medianMs,
    usuallyDown: (AFFECTED_CHARGE_RATE * perMonth * medianMs * MEAN_TO_MEDIAN) / (30 * DAY_MS),
  };
}

function findOutageAt({ outages }: IssuerOutages, at: number): Outage | undefined {
  let low = 0;
  let high = outages.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (outages[middle]!.endsAt > at) high = middle;
    else low = middle + 1;
  }
  const found = outages[low];
  return found && found.startsAt <= at ? found : undefined;
}

/** Whether a charge with that code did not reach its issuer. null means approved. */
export const isOutageCode = (code: string | null) => code === "91" || code === "96";

/** Returns the code of a charge that cannot reach its issuer; null if it can. `draw` is the charge's own luck. */
export function findOutageCode(uptime: IssuerOutages, at: number, draw: number): string | null {
  const outage = findOutageAt(uptime, at);
  return outage && draw < AFFECTED_CHARGE_RATE ? outage.code : null;
}

/** Returns the chance, seen from `now`, that a charge at `at` meets an outage. The end of a present outage is unknown. */
export function downChance(uptime: IssuerOutages, now: number, at: number): number {
  const outage = findOutageAt(uptime, now);
  if (!outage) return uptime.usuallyDown;
  if (at - now > DAY_MS) return 0;
  const longer = (length: number) =>
    1 / (1 + Math.exp((1.702 * Math.log(Math.max(length, 60_000) / uptime.medianMs)) / LENGTH_DEVIATION));
  return AFFECTED_CHARGE_RATE * Math.min(1, longer(at - outage.startsAt) / longer(now - outage.startsAt));
}
