import { DAY_MS, WEEK_MS } from "../domain/durations.ts";
import type { RateTally } from "../tables/recovery-rates.ts";

const RECENT_WEEKS = 4;
const EARLIER_WEEKS = 12;
const CASES_MIN = 200;
/** Of a two-sided interval of 99%: about one false alarm in 200 comparisons. */
const QUANTILE = 2.5758;

export const RATE_ALERT_PAUSE_MS = RECENT_WEEKS * WEEK_MS;

/** Returns the bounds of the earlier and the recent weeks: full days, whose cases are all old enough to count. */
export function rateBounds(now: Date, maturityDays: number): [Date, Date, Date] {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const end = today - maturityDays * DAY_MS;
  const recentFrom = end - RECENT_WEEKS * WEEK_MS;
  return [new Date(recentFrom - EARLIER_WEEKS * WEEK_MS), new Date(recentFrom), new Date(end)];
}

/** Shares from 0 to 1. `low` and `high` bound recent minus earlier. */
export interface RateChange {
  earlier: { rate: number; cases: number };
  recent: { rate: number; cases: number };
  low: number;
  high: number;
}

/** Returns the change of the recovery rate if it certainly fell, else null. */
export function findRateFall(earlier: RateTally, recent: RateTally): RateChange | null {
  if (earlier.cases < CASES_MIN || recent.cases < CASES_MIN) return null;
  const rateOf = ({ recovered, cases }: RateTally) => recovered / cases;
  const difference = rateOf(recent) - rateOf(earlier);
  const margin = QUANTILE * Math.sqrt(rateVariance(earlier) + rateVariance(recent));
  if (difference + margin >= 0) return null;
  return {
    earlier: { rate: rateOf(earlier), cases: earlier.cases },
    recent: { rate: rateOf(recent), cases: recent.cases },
    low: difference - margin,
    high: difference + margin,
  };
}

/** Between customers, but never below that of independent cases, which is not zero even if no case was recovered. */
function rateVariance(tally: RateTally): number {
  const { customers, cases, recovered, casesCases, casesRecovered, recoveredRecovered } = tally;
  const rate = recovered / cases;
  const squares = recoveredRecovered - 2 * rate * casesRecovered + rate * rate * casesCases;
  const clustered = customers < 2 ? 1 : ((customers / (customers - 1)) * squares) / (cases * cases);
  const shrunk = (recovered + 2) / (cases + 4);
  return Math.max(clustered, (shrunk * (1 - shrunk)) / cases);
}
