import type Stripe from "stripe";
import type { StripeAccount } from "./stripe-account.ts";

/** The events after which an object has to be read again. */
export const EVENT_TYPES = [
  "invoice.finalized",
  "invoice.paid",
  "invoice.payment_failed",
  "invoice.updated",
  "invoice.voided",
  "invoice.marked_uncollectible",
  "charge.pending",
  "charge.refunded",
  "charge.dispute.created",
  "charge.dispute.closed",
  "customer.subscription.updated",
  "customer.subscription.deleted",
] as const;

/** Returns the ids of invoices and subscriptions that an event is about. */
export async function changedObjectsOf(account: StripeAccount, event: Stripe.Event): Promise<string[]> {
  const object = event.data.object as { id: string; object: string };
  if (object.object === "invoice" || object.object === "subscription") return [object.id];
  const charge = object.object === "charge" ? (object as Stripe.Charge) : null;
  const intent = charge ?? (object.object === "dispute" ? (object as unknown as Stripe.Dispute) : null);
  if (!intent) return [];
  const invoiceId = await account.invoiceOfCharge(intent);
  return invoiceId === null ? [] : [invoiceId];
}
