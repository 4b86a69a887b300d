import { chance, DAY_MS, HOUR_MS } from "./chance.ts";
import type { Customer } from "./customer.ts";
import { DECLINES, type Reason } from "./declines.ts";

/** What customers do by themselves. All delays are in milliseconds; null: never. */

/** How long after a mail that asks for a new card the customer enters one. Each mail is another chance. */
export function cardChangeDelayMs(customer: Customer, invoiceId: string, mail: number, reason: Reason): number | null {
  // Those whose card is gone know why they are asked; the others mostly wait for their money.
  const share = DECLINES[reason].hard || reason === "expired" || reason === "authentication" ? 0.5 : 0.2;
  if (chance(customer.seed, "mail answered", invoiceId, mail) >= share) return null;
  return 2 * HOUR_MS * 60 ** chance(customer.seed, "mail read", invoiceId, mail);
}

/** Whether a new card is charged by the customer at once; the others only put it on file. */
export const paysWhenChanging = (customer: Customer, invoiceId: string) =>
  chance(customer.seed, "pays at once", invoiceId) < 0.6;

/** How long after the failure the customer notices and pays without being asked: half of those who do, within 4 days. */
export function ownPaymentDelayMs(customer: Customer, invoiceId: string): number | null {
  if (chance(customer.seed, "notices", invoiceId) >= 0.08) return null;
  return 6 * HOUR_MS - 4 * DAY_MS * Math.log2(1 - chance(customer.seed, "noticed", invoiceId));
}

/** How long after the failure the customer cancels the subscription: many who revoked the authorization meant just that. */
export function leavingDelayMs(customer: Customer, invoiceId: string, reason: Reason): number | null {
  const share = reason === "revoked" || reason === "ach_revoked" || reason === "sepa_no_mandate" ? 0.5 : 0.01;
  if (chance(customer.seed, "leaves", invoiceId) >= share) return null;
  return (1 + 6 * chance(customer.seed, "left", invoiceId)) * DAY_MS;
}
