import type { CardOnFile } from "../world/charge-card.ts";
import type { Customer } from "../world/customer.ts";
import type { Reason } from "../world/decline-reasons.ts";

/** Plain data; `api-records.ts` converts it for Dunlin. */

export type AttemptInitiator = "BILLING_SYSTEM" | "RECOVERY_ACTION" | "CUSTOMER";

export interface BookedAttempt {
  id: string;
  at: Date;
  initiator: AttemptInitiator;
  /** The event that asked for it. */
  recoveryActionId: string | null;
  card: CardOnFile;
  /** null if approved. */
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
  /** No further invoice until this one is settled. */
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
  /** Dunlin took it over, so the merchant's own retries are off. */
  paused: boolean;
  /** Requests for a new card. */
  mails: number;
  /** Retry instructions not followed after a hard decline. */
  refused: number;
}

/** How a failed invoice was paid. */
export type RecoveredBy = "retry" | "own_retry" | "card_change" | "customer";

/** null if unpaid or approved at first. */
export function findRecoveredBy(invoice: BookedInvoice): RecoveredBy | null {
  const last = invoice.attempts.at(-1);
  if (invoice.state !== "PAID" || invoice.attempts.length < 2 || !last) return null;
  if (last.initiator === "RECOVERY_ACTION") return "retry";
  if (last.initiator === "BILLING_SYSTEM") return "own_retry";
  return invoice.mails > 0 ? "card_change" : "customer";
}

export const countRetries = (invoice: BookedInvoice) => invoice.attempts.length - 1;
