import type { Customer } from "./customer.ts";
import { DECLINES, type Reason } from "./decline-reasons.ts";
import { DAY_MS, HOUR_MS, keyedRandom } from "./keyed-random.ts";

/** Customers' own actions. Delays in milliseconds; null: never. */

/** After a mail asking for a new card. Each mail is another chance. */
export function cardChangeDelayMs(customer: Customer, invoiceId: string, mail: number, reason: Reason): number | null {
  // Customers whose card no longer works understand the request. The others mostly wait for their money.
  const share = DECLINES[reason].hard || reason === "expired" || reason === "authentication" ? 0.5 : 0.2;
  if (keyedRandom(customer.seed, "mail answered", invoiceId, mail) >= share) return null;
  return 2 * HOUR_MS * 60 ** keyedRandom(customer.seed, "mail read", invoiceId, mail);
}

/** Pays at once, instead of only putting the card on file. */
export const willPayWithNewCard = (customer: Customer, invoiceId: string) =>
  keyedRandom(customer.seed, "pays at once", invoiceId) < 0.6;

/** After the failure. Half of those who pay do so within 4 days. */
export function unaskedPaymentDelayMs(customer: Customer, invoiceId: string): number | null {
  if (keyedRandom(customer.seed, "notices", invoiceId) >= 0.08) return null;
  return 6 * HOUR_MS - 4 * DAY_MS * Math.log2(1 - keyedRandom(customer.seed, "noticed", invoiceId));
}

/** After the failure. Many customers who revoked the authorization meant to cancel. */
export function cancellationDelayMs(customer: Customer, invoiceId: string, reason: Reason): number | null {
  const share = reason === "revoked" || reason === "ach_revoked" || reason === "sepa_no_mandate" ? 0.5 : 0.01;
  if (keyedRandom(customer.seed, "leaves", invoiceId) >= share) return null;
  return (1 + 6 * keyedRandom(customer.seed, "left", invoiceId)) * DAY_MS;
}
