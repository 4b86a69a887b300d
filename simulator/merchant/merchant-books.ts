import type { CardOnFile } from "../world/charge-card.ts";
import type { Customer } from "../world/customer.ts";
import type { Reason } from "../world/decline-reasons.ts";

/** The merchant's own books. Plain data: `records.ts` says how Dunlin sees it. */

export type AttemptInitiator = "BILLING_SYSTEM" | "RECOVERY_ACTION" | "CUSTOMER";

export interface BookedAttempt {
  id: string;
  at: Date;
  initiator: AttemptInitiator;
  /** The event that asked for it. */
  recoveryActionId: string | null;
  card: CardOnFile;
  /** Null when it was approved. */
  reason: Reason | null;
  adviceCode: string | null;
}

export interface BookedSubscription {
  id: string;
  customer: Customer;
  state: "ACTIVE" | "CANCELED";
  createdAt: Date;
  updatedAt: Date;
  canceledAt: Date | null;
  card: CardOnFile;
  /** The unpaid invoice, if there is one: no further bill until it is settled. */
  open: BookedInvoice | null;
}

export interface BookedInvoice {
  id: string;
  subscription: BookedSubscription;
  state: "UNPAID" | "PAID" | "UNCOLLECTIBLE";
  amount: number;
  currency: string;
  createdAt: Date;
  updatedAt: Date;
  attempts: BookedAttempt[];
  /** Dunlin took it over: the merchant's own retries are off. */
  paused: boolean;
  /** Mails that asked for a new card. */
  mails: number;
  /** Instructions to retry that were not followed, because the card's last decline was a hard one. */
  refused: number;
}

/** How a failed invoice came to be paid. */
export type RecoveredBy = "retry" | "own_retry" | "card_change" | "customer";

/** Null: it isn't paid, or its first charge went through. */
export function findRecoveredBy(invoice: BookedInvoice): RecoveredBy | null {
  const last = invoice.attempts.at(-1);
  if (invoice.state !== "PAID" || invoice.attempts.length < 2 || !last) return null;
  if (last.initiator === "RECOVERY_ACTION") return "retry";
  if (last.initiator === "BILLING_SYSTEM") return "own_retry";
  return invoice.mails > 0 ? "card_change" : "customer";
}

/** Retries made so far; the first charge is none. */
export const countRetries = (invoice: BookedInvoice) => invoice.attempts.length - 1;
