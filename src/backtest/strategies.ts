import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { findCustomerLocale } from "../engine/customer-locale.ts";
import { decideLearned } from "../engine/decide-learned.ts";
import { decideStatic } from "../engine/decide-static.ts";
import { buildDecisionContext } from "../engine/decision-context.ts";
import type { Decision, DecisionFacts } from "../engine/decision-facts.ts";
import type { CustomerHistory } from "../engine/infer-posterior.ts";
import type { LearnedModel } from "../engine/learned/learned-model.ts";
import { offsetMs } from "../engine/local-time.ts";
import { findBrand } from "../engine/rules/card-networks.ts";
import type { DeclineGroup } from "../engine/rules/decline-groups.ts";
import { EVENLY_SPACED_RETRY_COUNT, evenlySpacedDays } from "../engine/space-evenly.ts";
import { toUsd } from "../engine/us-dollars.ts";
import {
  declineGroupOf,
  type FailedInvoice,
  type FailedInvoices,
  isCustomerInitiated,
  WINDOW_DAYS,
} from "./failed-invoices.ts";
import { retryGapOf, STOP_CHOICE } from "./retry-gaps.ts";

/** A way of trying again, judged by its choice after each failure. */
export interface RetryStrategy {
  name: string;
  words: string;
  /** The step after failure `k` of the invoice (0: the first charge). */
  next(invoice: FailedInvoice, k: number): NextRetry;
}

/** When the next try comes; null: never; "card": another card is asked for, and what that brings no history of attempts can tell. */
type NextRetry = Date | "card" | null;

/** Tries on these days after the first failure; none more after a decline of `givenUp`. */
function fixedDaysStrategy(
  name: string,
  words: string,
  days: readonly number[],
  givenUp: readonly DeclineGroup[],
): RetryStrategy {
  return {
    name,
    words,
    next({ attempts }, k) {
      const failed = attempts[k]!;
      const day = days[k];
      if (day === undefined || givenUp.includes(declineGroupOf(failed))) return null;
      const at = Math.max(attempts[0]!.at.getTime() + day * DAY_MS, failed.at.getTime() + HOUR_MS);
      return new Date(at);
    },
  };
}

/**
 * What a merchant's own system is compared with. Schedules know nothing of declines, as most that are used. But where the merchant's own system gives
 * up its history says nothing of trying again, so nothing could be said of them: there they give up, too.
 */
export function buildStrategies(
  { byCustomer }: FailedInvoices,
  learned: LearnedModel,
  givenUp: readonly DeclineGroup[],
): RetryStrategy[] {
  const even = evenlySpacedDays(WINDOW_DAYS, EVENLY_SPACED_RETRY_COUNT);
  const byRules = (invoice: FailedInvoice, k: number) => {
    const known = knownFactsAfter(invoice, k, byCustomer.get(invoice.customerId)!);
    return nextRetryOf(decideStatic(buildDecisionContext(known, invoice.attempts[k]!.at)));
  };
  const byLearning = (invoice: FailedInvoice, k: number) => {
    const all = byCustomer.get(invoice.customerId)!;
    const known = knownFactsAfter(invoice, k, all);
    const history = customerHistoryUntil(invoice, k, all, known);
    const context = buildDecisionContext(known, invoice.attempts[k]!.at, history);
    return nextRetryOf(decideLearned(context, history, learned).decision);
  };
  return [
    { name: "dunlin", words: "Dunlin, with what it ships knowing", next: byLearning },
    { name: "rules", words: "Dunlin's fixed rules, nothing learned", next: byRules },
    fixedDaysStrategy("fixed", "days 1, 3, 5 and 7", [1, 3, 5, 7], givenUp),
    fixedDaysStrategy("ladder", "days 1, 3, 8, 10 and 12", [1, 3, 8, 10, 12], givenUp),
    fixedDaysStrategy("even", `${EVENLY_SPACED_RETRY_COUNT} tries, even over ${WINDOW_DAYS} days`, even, givenUp),
  ];
}

/** The choice that it is when this comes after failure `k` of an invoice. */
export function choiceOf(next: NextRetry, invoice: FailedInvoice, k: number): number {
  const endsAt = invoice.attempts[0]!.at.getTime() + WINDOW_DAYS * DAY_MS;
  return next === null || next === "card" || next.getTime() >= endsAt
    ? STOP_CHOICE
    : retryGapOf(invoice.attempts[k]!.at, next);
}

const nextRetryOf = (decision: Decision): NextRetry =>
  decision.kind === "retry" ? decision.at : decision.kind === "card_change" ? "card" : null;

/** The facts right after failure `k`. */
function knownFactsAfter(
  { invoiceId, attempts, amount, currency }: FailedInvoice,
  k: number,
  all: readonly PastAttempt[],
): DecisionFacts {
  const failed = attempts[k]!;
  const unpaidAt = attempts[0]!.at;
  return {
    caseId: invoiceId,
    unpaidAt,
    windowEndsAt: new Date(unpaidAt.getTime() + WINDOW_DAYS * DAY_MS),
    // As by a model that has trained on enough outcomes: this history holds them.
    explores: true,
    budgetLeft: Math.max(0, MERCHANT_DEFAULTS.budget - k),
    leadMs: 0,
    amount,
    currency,
    paymentMethodType: failed.paymentMethodType,
    network: findBrand(failed.cardBrand, failed.paymentMethodType),
    cardCountry: failed.cardCountry,
    customerTimezone: failed.customerTimezone,
    ledger: all
      .filter(({ at }) => at <= failed.at)
      .map((attempt) => ({
        at: attempt.at,
        amount: attempt.amount,
        approved: attempt.approved,
        onThisInvoice: attempt.invoiceId === invoiceId,
        onPresentCard: attempt.cardFingerprint === failed.cardFingerprint,
        codes: attempt.approved ? null : attempt,
        clears:
          attempt.approved &&
          !isCustomerInitiated(attempt) &&
          failed.cardFingerprint !== null &&
          attempt.cardFingerprint === failed.cardFingerprint,
      })),
    lastDecline: { ...failed, at: failed.at },
    cardChangedAt: null,
    cardChange: "unasked",
    cardAskedAt: null,
    billed: [],
    pending: null,
    othersPlanned: false,
    issuerDownAt: null,
    retries: attempts.slice(1, k + 1).map(({ at }) => ({ idealRetryTime: at, status: "FAILED" })),
  };
}

/** The customer's bills until failure `k` of this one, by what the merchant's system tried. */
function customerHistoryUntil(
  invoice: FailedInvoice,
  k: number,
  all: readonly PastAttempt[],
  known: DecisionFacts,
): CustomerHistory {
  const failed = invoice.attempts[k]!;
  const place = findCustomerLocale(known);
  const others = Map.groupBy(
    all.filter(
      (attempt) => attempt.at <= failed.at && attempt.invoiceId !== invoice.invoiceId && !isCustomerInitiated(attempt),
    ),
    ({ invoiceId }) => invoiceId,
  );
  const own = invoice.attempts.slice(0, k + 1);
  return {
    traits: {
      tenureDays: null,
      billingPeriod: null,
      billingPeriodUnit: null,
      merchant: "?",
      country: place.country ?? known.currency,
      paymentMethodType: known.paymentMethodType,
      network: known.network,
      funding: failed.cardFunding,
      issuer: failed.cardIssuer,
    },
    instrument: known,
    offsetAt: (at) => offsetMs(place.zone, at),
    bills: [...others.values(), own].map((charges) => ({
      dollars: toUsd(charges[0]!.amount, charges[0]!.currency),
      paymentMethodType: charges[0]!.paymentMethodType,
      charges: charges.map((attempt) => ({
        at: attempt.at,
        approved: attempt.approved,
        codes: attempt.approved ? null : attempt,
      })),
    })),
  };
}
