import { DAY_MS } from "../domain/durations.ts";

export interface SubscriptionInvoice {
  subscriptionId: string;
  at: Date;
}

/** Closer invoices of a subscription are corrections. */
const MIN_PERIOD_MS = DAY_MS;

/**
 * By the interval between a subscription's last two invoices, in milliseconds; null if unknown.
 *
 * @param invoices  in any order
 * @param after  an invoice that did not come by then is not awaited
 */
export function findNextInvoiceTime(invoices: readonly SubscriptionInvoice[], after: number): number | null {
  let soonest: number | null = null;
  for (const subscriptionInvoices of Map.groupBy(invoices, ({ subscriptionId }) => subscriptionId).values()) {
    const times = subscriptionInvoices.map(({ at }) => at.getTime()).sort((a, b) => b - a);
    const latest = times[0]!;
    const before = times.find((time) => time <= latest - MIN_PERIOD_MS);
    if (before === undefined) continue;
    const next = latest + (latest - before);
    if (next > after && (soonest === null || next < soonest)) soonest = next;
  }
  return soonest;
}
