import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import { evenlySpacedDays } from "../../src/engine/space-evenly.ts";
import { findRules, maxRetriesFor, type OpenCase, type Policy } from "./policy.ts";

/** At the first failure's hour. Forbidden for now: postponed; forbidden for good: the case ends. */
function retryOnDays(daysOf: (open: OpenCase) => readonly number[]): Policy {
  return {
    next(open, now) {
      const days = daysOf(open);
      const triedCount = maxRetriesFor(open.bill) - open.retriesLeft;
      const day = days[triedCount];
      if (day === undefined) return null;
      const rules = findRules(open);
      const plannedAt = open.bill.createdAt.getTime() + day * DAY_MS;
      for (let at = Math.max(plannedAt, now + HOUR_MS, rules.notBefore); at < open.endsAt; at += HOUR_MS)
        if (rules.allow(at)) return { at, chance: null };
      return null;
    },
  };
}

export const fixed = () => retryOnDays(() => [1, 3, 5, 7]);

export const ladder = () => retryOnDays(() => [1, 3, 8, 10, 12]);

/** The best static policy known; the last retry is an hour before the window's end. */
export const even = () => retryOnDays(({ bill }) => evenlySpacedDays(bill.windowDays, maxRetriesFor(bill)));
