import type { ActionStatus } from "../domain/recovery-action.ts";
import type { SubscriptionInvoice } from "./next-invoice.ts";
import type { RuleQuietTimes } from "./quiet-times.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

export interface Decline extends DeclineCodes {
  at: Date;
}

/**
 * Excludes anything that changes as time passes: a plan is decided again before it is sent, and must stay the same. Service time;
 * null means unknown.
 */
export interface DecisionFacts {
  caseId: string;
  /** `windowEndsAt` is exclusive. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** Retries sent count, whatever their outcome. */
  budgetLeft: number;
  explores: boolean;
  /** How long before the ideal time the decision is made; the merchant may execute it at once. */
  leadMs: number;
  /** Minor units. */
  amount: number;
  currency: string;
  /**
   * "card" | "sepa_debit" | "ach_debit" | "bacs_debit" | "paypal" | other. A card brand makes it a card. Null: no transaction.
   */
  paymentMethodType: string | null;
  network: string | null;
  /** ISO 3166 alpha-2. */
  cardCountry: string | null;
  /** IANA name; an invalid one counts as unknown. */
  customerTimezone: string | null;
  /**
   * Oldest first: all attempts on this invoice; the current card's on any invoice within at least 30 days; unanswered retry
   * requests, at their ideal time, without the plan being decided.
   */
  ledger: readonly LedgerEntry[];
  /** On the current card; null: none. One older than `findCardChangeTime` is ignored. */
  lastDecline: Decline | null;
  /** First seen after the former one's decline or a card request. */
  cardChangedAt: Date | null;
  /** "unasked": cannot be requested (in shadow mode, or refused twice in a row by the endpoint); null: not requested yet. */
  cardChange: "awaited" | "expired" | "unasked" | null;
  cardAskedAt: Date | null;
  /** By anyone, on the invoice. `until`: its result is awaited. */
  pending: { at: Date; until: Date } | null;
  /** When several customers last could not reach the card's bank or route; null: no known outage. */
  issuerDownAt: Date | null;
  /** The customer's latest, including this one; empty if not loaded. */
  billed: readonly SubscriptionInvoice[];
  /** Until when the merchant allows no retry. */
  postponedUntil: Date | null;
  /** Of the recovery rule that decides; null: none. */
  quietTimes: RuleQuietTimes | null;
  /** Another of the customer's cases has a planned or pending retry or card request. */
  othersPlanned: boolean;
  /** SCHEDULED and CANCELED ones were never executed. */
  retries: readonly { idealRetryTime: Date; status: ActionStatus }[];
}

/**
 * `reasons`: 2 to 5 sentences for people, most important first; `rules`: those about a rule that leaves fewer retries, or about
 * unknown rules.
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
