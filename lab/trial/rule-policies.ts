import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import { addDays, atLocalTime, localDay } from "../../src/engine/local-time.ts";
import { findPayDay } from "../../src/engine/pay-days.ts";
import type { Charge } from "../worlds/world.ts";
import { customerLocaleOf, declineGroupOf, findRules, type Policy } from "./policy.ts";

/**
 * Missing money waits for the country's next likely pay day, an outage half a day, a limit for the next local day. Others are
 * spread evenly, in local mornings. Lost cards are not retried.
 */
export const expert = (): Policy => ({
  next(open, now) {
    const group = declineGroupOf(open.charges.at(-1)!);
    if (group === "HARD_CARD" || group === "REVOKED" || group === "FRAUD" || group === "AUTH_REQUIRED") return null;
    const { zone, country } = customerLocaleOf(open.bill);
    const rules = findRules(open);
    const gap = (open.endsAt - now) / (open.retriesLeft + 0.5);
    const morning = (days: number) => atLocalTime(zone, addDays(localDay(zone, now), days), 9);
    let at = now + gap;
    if (group === "ISSUER_DOWN") at = now + 12 * HOUR_MS;
    else if (group === "LIMIT") at = morning(1) - 8 * HOUR_MS;
    else if (group === "FUNDS") {
      for (let days = 1; days * DAY_MS <= Math.max(gap, 3 * DAY_MS) * 1.5; days++)
        if (findPayDay(addDays(localDay(zone, now), days), country)) {
          at = morning(days);
          break;
        }
    } else at = morning(Math.max(1, Math.round(gap / DAY_MS)));
    at = Math.max(at, now + 6 * HOUR_MS, rules.notBefore);
    return at < open.endsAt && rules.allow(at) ? { at, chance: null } : null;
  },
});

/** By retry. */
const LATEST_DAYS = [1, 3, 8, 10, 12, 16];

/**
 * Counts successes by hour, weekday and date in UTC for each decline code, as Hyperswitch's open model does. Retries at the best
 * day and hour, no later than the ladder.
 */
export function createHourCountsPolicy(): Policy {
  const counts = new Map<string, { tried: number; paid: number }>();
  const keysOf = (code: string, at: number) => {
    const date = new Date(at);
    return [`${code}|h${date.getUTCHours()}`, `${code}|w${date.getUTCDay()}`, `${code}|d${date.getUTCDate()}`];
  };
  const codeOf = (charge: Charge) => charge.networkDeclineCode ?? "none";
  const rate = (key: string) => {
    const { tried, paid } = counts.get(key) ?? { tried: 0, paid: 0 };
    return (paid + 1) / (tried + 2);
  };
  return {
    next(open, now) {
      const rules = findRules(open);
      const code = codeOf(open.charges.at(-1)!);
      const day = LATEST_DAYS[open.charges.length - 1];
      if (day === undefined) return null;
      const latest = Math.max(open.bill.createdAt.getTime() + day * DAY_MS, now + DAY_MS);
      let best = 0;
      let found: number | null = null;
      for (let at = now + 6 * HOUR_MS; at < open.endsAt && (at <= latest || found === null); at += HOUR_MS) {
        const [hour, weekday, date] = keysOf(code, at).map(rate) as [number, number, number];
        const score = Math.max(weekday, date) + hour;
        if (score <= best || !rules.allow(at)) continue;
        best = score;
        found = at;
      }
      return found === null ? null : { at: found, chance: null };
    },
    answered(open, choice, charge) {
      const before = open.charges[open.charges.indexOf(charge) - 1]!;
      for (const key of keysOf(codeOf(before), choice.at)) {
        const count = counts.get(key) ?? { tried: 0, paid: 0 };
        count.tried++;
        if (charge.approved) count.paid++;
        counts.set(key, count);
      }
    },
  };
}
