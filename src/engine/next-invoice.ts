import { DAY_MS } from "../domain/durations.ts";

export interface SubscriptionInvoice {
  subscriptionId: string;
  at: Date;
}

/** Invoices of a subscription closer together than this are not a period apart: one corrects the other. */
const MIN_PERIOD_MS = DAY_MS;

/**
 * Returns when the next invoice of one of these subscriptions is due, at the interval of its last two, in milliseconds; null if
 * unknown.
 *
 * @param bills  in any order
 * @param after  an invoice that was due before this and did not come is not awaited
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
