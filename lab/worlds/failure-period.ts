import { keyedUniform } from "./keyed-uniform.ts";

export interface FailurePeriod {
  startsAt: number;
  /** In ms: log-uniform between them. Both Infinity: it never ends. */
  shortest: number;
  longest: number;
  endsAt: number;
}

export function drawFailurePeriod(startsAt: number, shortest: number, longest: number, draw: number): FailurePeriod {
  const length = Number.isFinite(longest) ? shortest * (longest / shortest) ** draw : Number.POSITIVE_INFINITY;
  return { startsAt, shortest, longest, endsAt: startsAt + length };
}

/** Given that it was not over at `knownAt`. The true end is not used. */
export function chanceOverBy({ startsAt, shortest, longest }: FailurePeriod, at: number, knownAt: number): number {
  if (!Number.isFinite(longest)) return 0;
  if (at <= knownAt) return 0;
  const chanceLongerThan = (length: number) =>
    length <= shortest ? 1 : length >= longest ? 0 : 1 - Math.log(length / shortest) / Math.log(longest / shortest);
  const chanceStill = chanceLongerThan(knownAt - startsAt);
  return chanceStill <= 1e-9 ? 1 : 1 - chanceLongerThan(at - startsAt) / chanceStill;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Per issuer. Most faults last a few hours, some most of a day. */
const OUTAGES_PER_DAY = 0.016;
export const USUAL_UP_RATE = 0.993;

/** Keyed by issuer and day, so all customers meet the same outage. */
export function findOutageAt(seed: number, issuer: number, at: number): FailurePeriod | null {
  const today = Math.floor(at / DAY_MS);
  for (const day of [today, today - 1]) {
    if (keyedUniform(seed, issuer, day, 71) >= OUTAGES_PER_DAY) continue;
    const startsAt = (day + keyedUniform(seed, issuer, day, 72)) * DAY_MS;
    const found = drawFailurePeriod(startsAt, HOUR_MS, 20 * HOUR_MS, keyedUniform(seed, issuer, day, 73));
    if (found.startsAt <= at && at < found.endsAt) return found;
  }
  return null;
}
