import type { Customer } from "./customer.ts";
import { DECLINES, type Reason } from "./decline-reasons.ts";
import { DAY_MS, HOUR_MS, keyedRandom } from "./keyed-random.ts";

/** What customers do by themselves. All delays are in milliseconds; null: never. */

/** How long after a mail that asks for a new card the customer enters one. Each mail is another chance. */
export function cardChangeDelayMs(customer: Customer, invoiceId: string, mail: number, reason: Reason): number | null {
  // Those whose card is gone know why they are asked; the others mostly wait for their money.
  const share = DECLINES[reason].hard || reason === "expired" || reason === "authentication" ? 0.5 : 0.2;
  if (keyedRandom(customer.seed, "mail answered", invoiceId, mail) >= share) return null;
  return 2 * HOUR_MS * 60 ** keyedRandom(customer.seed, "mail read", invoiceId, mail);
}

/** Whether a new card is charged by the customer at once; the others only put it on file. */
export const willPayWithNewCard = (customer: Customer, invoiceId: string) =>
  keyedRandom(customer.seed, "pays at once", invoiceId) < 0.6;

/** How long after the failure the customer notices and pays without being asked: half of those who do, within 4 days. */
export function unaskedPaymentDelayMs(customer: Customer, invoiceId: string): number | null {
  if (keyedRandom(customer.seed, "notices", invoiceId) >= 0.08) return null;
  return 6 * HOUR_MS - 4 * DAY_MS * Math.log2(1 - keyedRandom(customer.seed, "noticed", invoiceId));
}

/** How long after the failure the customer cancels the subscription: many who revoked the authorization meant just that. */
export function cancellationDelayMs(customer: Customer, invoiceId: string, reason: Reason): number | null {
  const share = reason === "revoked" || reason === "ach_revoked" || reason === "sepa_no_mandate" ? 0.5 : 0.01;
  if (keyedRandom(customer.seed, "leaves", invoiceId) >= share) return null;
  return (1 + 6 * keyedRandom(customer.seed, "left", invoiceId)) * DAY_MS;
}
