import type { ActionStatus } from "../domain/recovery-action.ts";
import type { SubscriptionInvoice } from "./next-invoice.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

/** A failed attempt: its codes and its time. */
export interface Decline extends DeclineCodes {
  at: Date;
}

/**
 * The facts of a case for a decision. Times are service time; null means unknown, and is never guessed.
 *
 * It holds facts alone, nothing that changes as time passes: the same facts must lead to the same time, because a plan is decided
 * again right before it is sent.
 */
export interface DecisionFacts {
  caseId: string;
  /** The window goes from `unpaidAt` up to, but not including, `windowEndsAt`. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** Retries that may still be requested: the budget minus those sent, whatever their outcome. */
  budgetLeft: number;
  /** Whether a share of retries may be sampled to learn from them. */
  explores: boolean;
  /** The decision is made this long before the ideal time, and the merchant may execute it at once. */
  leadMs: number;
  /** In minor units of `currency`. */
  amount: number;
  currency: string;
  /**
   * "card" | "sepa_debit" | "ach_debit" | "bacs_debit" | "paypal" | other. A card brand makes it a card. Null: no transaction was
   * seen.
   */
  paymentMethodType: string | null;
  /** Card brand as reported. */
  network: string | null;
  /** ISO 3166 alpha-2. */
  cardCountry: string | null;
  /** IANA name; an invalid one counts as unknown. */
  customerTimezone: string | null;
  /**
   * Attempts on this invoice, and on the current card for any invoice of at least the last 30 days, made by anyone; and requested
   * retries that no transaction answers yet, at their ideal time. Oldest first, without the plan that is being decided.
   */
  ledger: readonly LedgerEntry[];
  /** The latest failed attempt on the current card; null: none. A decline older than `findCardChangeTime` is ignored. */
  lastDecline: Decline | null;
  /** When a new card or payment method was first seen, after a decline of the former one or a request for a new card. */
  cardChangedAt: Date | null;
  /**
   * Whether the request for a new card may still be answered, or expired without one, or cannot be made (in shadow mode, or if
   * the endpoint refused it twice in a row); null: none was made yet.
   */
  cardChange: "awaited" | "expired" | "unasked" | null;
  /** When that request was made; null: it was not. */
  cardAskedAt: Date | null;
  /**
   * An attempt on the invoice that may still succeed, made by anyone, and the time until which its result is awaited; null: none.
   */
  pending: { at: Date; until: Date } | null;
  /** When several customers last could not reach the card's bank, or the route to it; null: no outage is known. */
  issuerDownAt: Date | null;
  /** The customer's latest invoices of subscriptions, including this one; empty if they were not loaded. */
  billed: readonly SubscriptionInvoice[];
  /** Whether a retry or a request for a new card is planned or pending in another case of the customer. */
  othersPlanned: boolean;
  /** Retries of this case. SCHEDULED and CANCELED ones were never executed and do not count. */
  retries: readonly { idealRetryTime: Date; status: ActionStatus }[];
}

/**
 * The next action. `reasons` are 2 to 5 sentences for people, most important first. `rules` are those of them that name a rule
 * that leaves fewer retries, or say that no rule is known.
 *
 * - `retry`, `card_change`: `at` is the ideal time; `at` equal to `now` means at once. Otherwise it lies ahead, and stays the
 *   same for the same facts.
 * - `stop`: the case ends before its window is over.
 * - `wait`: until new facts, the end of the window, or `until`. Nothing is allowed before the window ends, the last retry is not
 *   settled, only a new card can help, or no retry is worth making before there is news of the customer's other invoices.
 */
export type Decision =
  | { kind: "retry"; at: Date; suggestion: "RETRY" | "UNSPECIFIED"; reasons: string[]; rules: string[] }
  | { kind: "card_change"; at: Date; reasons: string[] }
  | { kind: "stop"; end: "hopeless" | "budget_used"; reasons: string[] }
  | { kind: "wait"; until?: Date; reasons: string[] };
