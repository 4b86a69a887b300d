import type { ActionStatus } from "../domain/recovery-action.ts";
import type { SubscriptionInvoice } from "./next-invoice.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

/** A failed attempt: what it said, and when it was made. */
export interface Decline extends DeclineCodes {
  at: Date;
}

/**
 * The facts of a case for a decision. Times are service time; null is "not known", and is never guessed.
 *
 * Only facts, nothing that changes because time passes: the same facts must lead to the same moment, since a plan is
 * decided again right before it is sent.
 */
export interface DecisionFacts {
  caseId: string;
  /** The window is from `unpaidAt` up to, not including, `windowEndsAt`. */
  unpaidAt: Date;
  windowEndsAt: Date;
  /** Retries that may still be asked for: the case's budget less those sent, whatever became of them. */
  budgetLeft: number;
  /** Whether a share of retries may be sampled to learn from them. */
  explores: boolean;
  /** The decision is made this long before the ideal time, and the merchant may execute it at once. */
  leadMs: number;
  /** Minor units of `currency`. */
  amount: number;
  currency: string;
  /** "card" | "sepa_debit" | "ach_debit" | "bacs_debit" | "paypal" | other; what has a card's brand is a card; null: no transaction was ever seen. */
  paymentMethodType: string | null;
  /** Card brand as given. */
  network: string | null;
  /** ISO 3166 alpha-2. */
  cardCountry: string | null;
  /** IANA name; one that does not exist counts as not known. */
  customerTimezone: string | null;
  /**
   * Attempts on this invoice, and on the present card for any invoice of at least the last 30 days, by whoever; and
   * retries asked for that no transaction answers yet, at their ideal time. Oldest first. Not the plan being decided.
   */
  ledger: readonly LedgerEntry[];
  /** The latest failed attempt on the present card; null: none seen. One older than `findCardChangeTime` is disregarded. */
  lastDecline: Decline | null;
  /** When a new card or payment method was first seen, after a decline of the former one or a card change asked for. */
  cardChangedAt: Date | null;
  /**
   * A change of the present card was asked for and may still come, or expired without a new one; nobody is asked, as in shadow mode, or the endpoint
   * did not take it twice in a row; null: none was asked for yet.
   */
  cardChange: "awaited" | "expired" | "unasked" | null;
  /** When that change was asked for; null where it was not. */
  cardAskedAt: Date | null;
  /** An attempt on the invoice that was made and may still go through, whoever made it, and until when that is waited for; null: there is none. */
  pending: { at: Date; until: Date } | null;
  /** When the card's bank, or the way to it, was found down last, by several customers; null: no outage is known. */
  issuerDownAt: Date | null;
  /** The customer's latest bills that belong to a subscription, this one among them; none where nobody looks at them. */
  billed: readonly SubscriptionInvoice[];
  /** In another case of the customer a try, or a card change, is planned or was asked for. */
  othersPlanned: boolean;
  /** Retry actions of this case. SCHEDULED and CANCELED ones do not count: they were never carried out. */
  retries: readonly { idealRetryTime: Date; status: ActionStatus }[];
}

/**
 * What to do next. `reasons`: 2 to 5 sentences a person can read, most important first; `rules`: those of them that name a rule that
 * leaves fewer tries, or say that none is known.
 *
 * - `retry`, `card_change`: `at` is the ideal time; `at` equal to `now` means at once. Otherwise it is in the future,
 *   and stays the same moment for the same facts as long as it is.
 * - `stop`: the case ends before its window is over.
 * - `wait`: nothing is allowed before the window ends, or the last retry is not settled yet, or only another card can help and none came yet, or nothing is
 *   worth trying before more is known of the customer's other bills. Only new facts change that, or the end of the window, or of `until`.
 */
export type Decision =
  | { kind: "retry"; at: Date; suggestion: "RETRY" | "UNSPECIFIED"; reasons: string[]; rules: string[] }
  | { kind: "card_change"; at: Date; reasons: string[] }
  | { kind: "stop"; end: "hopeless" | "budget_used"; reasons: string[] }
  | { kind: "wait"; until?: Date; reasons: string[] };
