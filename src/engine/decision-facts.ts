import type { ActionStatus } from "../domain/recovery-action.ts";
import type { SubscriptionInvoice } from "./next-invoice.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

export interface Decline extends DeclineCodes {
  at: Date;
}

/**
 * Facts alone, nothing that changes as time passes: a plan is decided again right before it is sent, and the same facts must give
 * the same time. Times are service time; null means unknown, and is never guessed.
 */
export interface DecisionFacts {
  caseId: string;
  /** `windowEndsAt` is exclusive. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** The budget minus retries sent, whatever their outcome. */
  budgetLeft: number;
  /** Whether some retries may be sampled to learn from them. */
  explores: boolean;
  /** How long before the ideal time the decision is made; the merchant may execute it at once. */
  leadMs: number;
  /** Minor units. */
  amount: number;
  currency: string;
  /**
   * "card" | "sepa_debit" | "ach_debit" | "bacs_debit" | "paypal" | other. A card brand makes it a card. Null: no transaction was
   * seen.
   */
  paymentMethodType: string | null;
  /** As reported. */
  network: string | null;
  /** ISO 3166 alpha-2. */
  cardCountry: string | null;
  /** IANA name; an invalid one counts as unknown. */
  customerTimezone: string | null;
  /**
   * Attempts by anyone on this invoice, and on the current card for any invoice within at least 30 days; and unanswered retry
   * requests, at their ideal time. Oldest first, without the plan being decided.
   */
  ledger: readonly LedgerEntry[];
  /** The current card's latest failed attempt; null: none. One older than `findCardChangeTime` is ignored. */
  lastDecline: Decline | null;
  /** When a new card or payment method was first seen, after the former one's decline or a request for a new card. */
  cardChangedAt: Date | null;
  /**
   * The request for a new card may still be answered, expired without one, or cannot be made (in shadow mode, or refused twice in
   * a row by the endpoint); null: none was made yet.
   */
  cardChange: "awaited" | "expired" | "unasked" | null;
  /** Null: no request was made. */
  cardAskedAt: Date | null;
  /** An attempt on the invoice, by anyone, that may still succeed, and until when its result is awaited. */
  pending: { at: Date; until: Date } | null;
  /** When several customers last could not reach the card's bank, or its route; null: no known outage. */
  issuerDownAt: Date | null;
  /** The customer's latest subscription invoices, including this one; empty if not loaded. */
  billed: readonly SubscriptionInvoice[];
  /** Whether another of the customer's cases has a planned or pending retry or card request. */
  othersPlanned: boolean;
  /** SCHEDULED and CANCELED ones were never executed and do not count. */
  retries: readonly { idealRetryTime: Date; status: ActionStatus }[];
}

/**
 * `reasons` are 2 to 5 sentences for people, most important first; `rules` are those about a rule that leaves fewer retries, or
 * about unknown rules.
 *
 * - `retry`, `card_change`: `at` is the ideal time; `now` means at once.
 * - `stop`: the case ends before its window is over.
 * - `wait`: until new facts, the window's end, or `until`.
 */
export type Decision =
  | { kind: "retry"; at: Date; suggestion: "RETRY" | "UNSPECIFIED"; reasons: string[]; rules: string[] }
  | { kind: "card_change"; at: Date; reasons: string[] }
  | { kind: "stop"; end: "hopeless" | "budget_used"; reasons: string[] }
  | { kind: "wait"; until?: Date; reasons: string[] };
