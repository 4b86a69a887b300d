import { DAY_MS } from "../domain/durations.ts";

/** A bill of a subscription. */
export interface SubscriptionInvoice {
  subscriptionId: string;
  at: Date;
}

/** Bills of a subscription that are nearer to one another than this are no period apart: one corrects the other. */
const MIN_PERIOD_MS = DAY_MS;

/**
 * When the next bill of one of these subscriptions is due, if it comes as the last two did; null where nobody can say. Milliseconds since 1970.
 *
 * @param bills  in any order
 * @param after  one that was due before this, and did not come, is not waited for
 */
export function findNextInvoiceTime(bills: readonly SubscriptionInvoice[], after: number): number | null {
  let soonest: number | null = null;
  for (const of of Map.groupBy(bills, ({ subscriptionId }) => subscriptionId).values()) {
    const times = of.map(({ at }) => at.getTime()).sort((a, b) => b - a);
    const latest = times[0]!;
    const before = times.find((time) => time <= latest - MIN_PERIOD_MS);
    if (before === undefined) continue;
    const next = latest + (latest - before);
    if (next > after && (soonest === null || next < soonest)) soonest = next;
  }
  return soonest;
}
