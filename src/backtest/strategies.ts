import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { findDecidingRule, type NumberedRule } from "../domain/recovery-rule.ts";
import { findCustomerLocale } from "../engine/customer-locale.ts";
import { decideLearned } from "../engine/decide-learned.ts";
import { decideStatic } from "../engine/decide-static.ts";
import { buildDecisionContext } from "../engine/decision-context.ts";
import type { Decision, DecisionFacts } from "../engine/decision-facts.ts";
import type { CustomerHistory } from "../engine/infer-posterior.ts";
import type { LearnedModel } from "../engine/learned/learned-model.ts";
import { offsetMs } from "../engine/local-time.ts";
import { quietTimesOf } from "../engine/quiet-times.ts";
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

export interface RetryStrategy {
  name: string;
  words: string;
  /** After failure `k` (0: the first charge). */
  next(invoice: FailedInvoice, k: number): NextRetry;
}

/** null for never; "card" to request another card, whose result a history does not show. */
type NextRetry = Date | "card" | null;

/** After the first failure, but not after an abandoned decline. */
function fixedDaysStrategy(
  name: string,
  words: string,
  days: readonly number[],
  abandonedGroups: readonly DeclineGroup[],
): RetryStrategy {
  return {
    name,
    words,
    next({ attempts }, k) {
      const failed = attempts[k]!;
      const day = days[k];
      if (day === undefined || abandonedGroups.includes(declineGroupOf(failed))) return null;
      const at = Math.max(attempts[0]!.at.getTime() + day * DAY_MS, failed.at.getTime() + HOUR_MS);
      return new Date(at);
    },
  };
}

/**
 * The schedules ignore decline reasons, as most do, except those after which the merchant's system gives up: the history shows
 * nothing about retries there.
 *
 * @param rules  the merchant's; a history names neither plans nor entities, so rules about these fit no invoice
 */
export function buildStrategies(
  { byCustomer }: FailedInvoices,
  learned: LearnedModel,
  abandonedGroups: readonly DeclineGroup[],
  rules: readonly NumberedRule[] = [],
): RetryStrategy[] {
  const evenDays = evenlySpacedDays(WINDOW_DAYS, EVENLY_SPACED_RETRY_COUNT);
  const byRules = (invoice: FailedInvoice, k: number) => {
    const rule = findRule(rules, invoice, k);
    if (rule?.leaveOut) return null;
    const facts = factsAfter(invoice, k, byCustomer.get(invoice.customerId)!, rule);
    return nextRetryOf(decideStatic(buildDecisionContext(facts, invoice.attempts[k]!.at)));
  };
  const byLearning = (invoice: FailedInvoice, k: number) => {
    const all = byCustomer.get(invoice.customerId)!;
    const rule = findRule(rules, invoice, k);
    if (rule?.leaveOut) return null;
    const facts = factsAfter(invoice, k, all, rule);
    const history = customerHistoryUntil(invoice, k, all, facts);
    const context = buildDecisionContext(facts, invoice.attempts[k]!.at, history);
    return nextRetryOf(decideLearned(context, history, learned).decision);
  };
  return [
    { name: "dunlin", words: "Dunlin with the pretrained model", next: byLearning },
    { name: "rules", words: "Dunlin with fixed rules", next: byRules },
    fixedDaysStrategy("fixed", "days 1, 3, 5 and 7", [1, 3, 5, 7], abandonedGroups),
    fixedDaysStrategy("ladder", "days 1, 3, 8, 10 and 12", [1, 3, 8, 10, 12], abandonedGroups),
    fixedDaysStrategy(
      "even",
      `${EVENLY_SPACED_RETRY_COUNT} evenly spaced retries over ${WINDOW_DAYS} days`,
      evenDays,
      abandonedGroups,
    ),
  ];
}

/** After failure `k`. */
export function choiceOf(next: NextRetry, invoice: FailedInvoice, k: number): number {
  const endsAt = invoice.attempts[0]!.at.getTime() + WINDOW_DAYS * DAY_MS;
  return next === null || next === "card" || next.getTime() >= endsAt
    ? STOP_CHOICE
    : retryGapOf(invoice.attempts[k]!.at, next);
}

const nextRetryOf = (decision: Decision): NextRetry =>
  decision.kind === "retry" ? decision.at : decision.kind === "card_change" ? "card" : null;

const findRule = (
  rules: readonly NumberedRule[],
  { currency, amount, customerId, attempts }: FailedInvoice,
  k: number,
) =>
  findDecidingRule(rules, {
    ...{ planId: null, businessEntity: null, currency, amount, customerId },
    cardCountry: attempts[k]!.cardCountry,
  });

/** Directly after failure `k`. A window of a rule is not longer than that of the history. */
function factsAfter(
  { invoiceId, attempts, amount, currency }: FailedInvoice,
  k: number,
  all: readonly PastAttempt[],
  rule: NumberedRule | null,
): DecisionFacts {
  const failed = attempts[k]!;
  const unpaidAt = attempts[0]!.at;
  return {
    caseId: invoiceId,
    unpaidAt,
    windowEndsAt: new Date(unpaidAt.getTime() + Math.min(rule?.windowDays ?? WINDOW_DAYS, WINDOW_DAYS) * DAY_MS),
    // Like a model that has trained on this history's outcomes.
    explores: true,
    budgetLeft: Math.max(0, (rule?.budget ?? MERCHANT_DEFAULTS.budget) - k),
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
    postponedUntil: null,
    quietTimes: quietTimesOf(rule),
    retries: attempts.slice(1, k + 1).map(({ at }) => ({ idealRetryTime: at, status: "FAILED" })),
  };
}

/** On all of the customer's invoices, up to failure `k`. */
function customerHistoryUntil(
  invoice: FailedInvoice,
  k: number,
  all: readonly PastAttempt[],
  facts: DecisionFacts,
): CustomerHistory {
  const failed = invoice.attempts[k]!;
  const locale = findCustomerLocale(facts);
  const others = Map.groupBy(
    all.filter(
      (attempt) => attempt.at <= failed.at && attempt.invoiceId !== invoice.invoiceId && !isCustomerInitiated(attempt),
    ),
    ({ invoiceId }) => invoiceId,
  );
  const current = invoice.attempts.slice(0, k + 1);
  return {
    traits: {
      tenureDays: null,
      billingPeriod: null,
      billingPeriodUnit: null,
      merchant: "?",
      country: locale.country ?? facts.currency,
      paymentMethodType: facts.paymentMethodType,
      network: facts.network,
      funding: failed.cardFunding,
      issuer: failed.cardIssuer,
    },
    instrument: facts,
    offsetAt: (at) => offsetMs(locale.zone, at),
    invoices: [...others.values(), current].map((charges) => ({
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
