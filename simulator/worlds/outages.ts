import { DAY_MS, HOUR_MS } from "./coin.ts";
import type { Luck } from "./luck.ts";

interface Outage {
  startsAt: number;
  endsAt: number;
  code: string;
}

/** When an issuer is out of reach: outages at its own rate, from minutes to a day long, which all of its cards meet. In order of time. */
export interface Uptime {
  outages: readonly Outage[];
  medianMs: number;
  /** Share of charges that meet an outage, over the year. */
  usuallyDown: number;
}

/** Standard deviation of the logarithm of an outage's length: from minutes to a day. */
const SPREAD = 1.35;
/** Mean length over median, no outage being longer than a day. */
const MEAN = 2.2;
/** Share of charges that meet the outage; the others find a way around it. */
const MET = 0.92;
/** Share of outages that begin with maintenance in the small hours. */
const PLANNED = 0.3;

/** How often and how long an issuer is down. */
export interface Upkeep {
  /** How many outages begin in 30 days. */
  perMonth: number;
  medianMs: number;
  /** Of the issuer: maintenance begins between two and four there. */
  utcOffsetHours: number;
}

/** The outages of one issuer from `from` to `to`, ms. */
export function uptimeOf(seed: number, issuer: number, from: number, to: number, upkeep: Upkeep, luck: Luck): Uptime {
  const { perMonth, medianMs, utcOffsetHours } = upkeep;
  const outages: Outage[] = [];
  const nightMs = ((26 - utcOffsetHours) % 24) * HOUR_MS;
  let at = from;
  for (;;) {
    luck.begin(seed, issuer, outages.length, 102);
    at += (-Math.log(1 - luck.draw()) * 30 * DAY_MS) / perMonth;
    if (at > to) break;
    const isPlanned = luck.draw() < PLANNED;
    const startsAt = isPlanned ? Math.floor(at / DAY_MS) * DAY_MS + nightMs + 2 * HOUR_MS * luck.draw() : at;
    const endsAt = startsAt + Math.min(DAY_MS, medianMs * Math.exp(SPREAD * luck.bell()));
    outages.push({ startsAt, endsAt, code: luck.draw() < 0.75 ? "91" : "96" });
    at = Math.max(at, endsAt);
  }
  return { outages, medianMs, usuallyDown: (MET * perMonth * medianMs * MEAN) / (30 * DAY_MS) };
}

function outageAt({ outages }: Uptime, at: number): Outage | undefined {
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

/** Whether a charge with that code, null: approved, has not reached its issuer. */
export const isOutage = (code: string | null) => code === "91" || code === "96";

/** The code of a charge that cannot reach its issuer; null: it is reached. `draw` is the charge's own luck. */
export function outageCode(uptime: Uptime, at: number, draw: number): string | null {
  const outage = outageAt(uptime, at);
  return outage && draw < MET ? outage.code : null;
}

/** The chance, seen from `now`, that a charge at `at` meets an outage: nobody knows when the present one ends. */
export function downChance(uptime: Uptime, now: number, at: number): number {
  const outage = outageAt(uptime, now);
  if (!outage) return uptime.usuallyDown;
  if (at - now > DAY_MS) return 0;
  const longer = (length: number) =>
    1 / (1 + Math.exp((1.702 * Math.log(Math.max(length, 60_000) / uptime.medianMs)) / SPREAD));
  return MET * Math.min(1, longer(at - outage.startsAt) / longer(now - outage.startsAt));
}
