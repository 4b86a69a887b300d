import { DAY_MS, HOUR_MS } from "./keyed-uniform.ts";
import type { RandomStream } from "./random-stream.ts";

interface Outage {
  startsAt: number;
  endsAt: number;
  code: string;
}

export interface IssuerOutages {
  outages: readonly Outage[];
  medianMs: number;
  usuallyDown: number;
}

const LENGTH_DEVIATION = 1.35;
/** No outage is longer than a day. */
const MEAN_TO_MEDIAN = 2.2;
const AFFECTED_CHARGE_RATE = 0.92;
const MAINTENANCE_RATE = 0.3;

export interface OutageRates {
  /** Per 30 days. */
  perMonth: number;
  medianMs: number;
  utcOffsetHours: number;
}

export function createOutages(
  seed: number,
  issuer: number,
  from: number,
  to: number,
  upkeep: OutageRates,
  random: RandomStream,
): IssuerOutages {
  const { perMonth, medianMs, utcOffsetHours } = upkeep;
  const outages: Outage[] = [];
  const nightMs = ((26 - utcOffsetHours) % 24) * HOUR_MS;
  let at = from;
  for (;;) {
    random.begin(seed, issuer, outages.length, 102);
    at += (-Math.log(1 - random.draw()) * 30 * DAY_MS) / perMonth;
    if (at > to) break;
    const isPlanned = random.draw() < MAINTENANCE_RATE;
    const startsAt = isPlanned ? Math.floor(at / DAY_MS) * DAY_MS + nightMs + 2 * HOUR_MS * random.draw() : at;
    const endsAt = startsAt + Math.min(DAY_MS, medianMs * Math.exp(LENGTH_DEVIATION * random.bell()));
    outages.push({ startsAt, endsAt, code: random.draw() < 0.75 ? "91" : "96" });
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

/** Whether the charge did not reach its issuer. null: approved. */
export const isOutageCode = (code: string | null) => code === "91" || code === "96";

/** null if the charge reaches its issuer. */
export function findOutageCode(uptime: IssuerOutages, at: number, draw: number): string | null {
  const outage = findOutageAt(uptime, at);
  return outage && draw < AFFECTED_CHARGE_RATE ? outage.code : null;
}

/** Seen from `now`: a present outage's end is unknown. */
export function downChance(uptime: IssuerOutages, now: number, at: number): number {
  const outage = findOutageAt(uptime, now);
  if (!outage) return uptime.usuallyDown;
  if (at - now > DAY_MS) return 0;
  const longer = (length: number) =>
    1 / (1 + Math.exp((1.702 * Math.log(Math.max(length, 60_000) / uptime.medianMs)) / LENGTH_DEVIATION));
  return AFFECTED_CHARGE_RATE * Math.min(1, longer(at - outage.startsAt) / longer(now - outage.startsAt));
}
