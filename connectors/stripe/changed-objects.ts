import type Stripe from "stripe";
import { idOf } from "./stripe-account.ts";

/** The events after which an object has to be read again. */
export const EVENT_TYPES = [
  "invoice.paid",
  "invoice.payment_failed",
  "invoice.updated",
  "invoice.voided",
  "invoice.marked_uncollectible",
  "charge.pending",
  "charge.refunded",
  "charge.dispute.created",
  "charge.dispute.closed",
  "credit_note.created",
  "credit_note.voided",
  "customer.updated",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "payment_method.automatically_updated",
] as const;

/**
 * Returns the ids of invoices, subscriptions, customers and payments to read again after an event. A customer stands for the invoices
 * that Dunlin handles: the next charge may use another method. A payment intent stands for its invoice.
 */
export function changedObjectsOf(event: Stripe.Event): string[] {
  const object = event.data.object as { id: string; object: string };
  switch (object.object) {
    case "invoice":
    case "customer":
      return [object.id];
    case "subscription":
      return [object.id, ...definedOnly(idOf((object as Stripe.Subscription).customer))];
    case "payment_method":
      return definedOnly(idOf((object as Stripe.PaymentMethod).customer));
    case "credit_note":
      return definedOnly(idOf((object as Stripe.CreditNote).invoice));
    case "charge":
    case "dispute":
      return definedOnly(idOf((object as Stripe.Charge | Stripe.Dispute).payment_intent));
    default:
      return [];
  }
}

const definedOnly = (id: string | undefined): string[] => (id === undefined ? [] : [id]);
