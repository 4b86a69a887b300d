import { DAY_MS } from "../domain/durations.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { findBrand } from "../engine/rules/card-networks.ts";
import { DECLINE_GROUPS, type DeclineGroup, endsRetries } from "../engine/rules/decline-groups.ts";
import { findDeclineGroup } from "../engine/rules/interpret-decline.ts";
import type { Episode, EpisodeDecision } from "./estimate.ts";
import { retryGapOf, STOP_CHOICE } from "./retry-gaps.ts";

/** As for a new merchant's cases. */
export const WINDOW_DAYS = MERCHANT_DEFAULTS.windowDays;
/** Decisions after more failures are treated alike. */
const MAX_DISTINCT_FAILURES = 8;
const WINDOW_WEEKS = WINDOW_DAYS / 7;

/** Its first attempt failed; with the retries in its window, oldest first. */
export interface FailedInvoice extends Episode {
  invoiceId: string;
  currency: string;
  attempts: readonly PastAttempt[];
}

export interface FailedInvoices {
  invoices: FailedInvoice[];
  /** Oldest first. */
  byCustomer: Map<string, PastAttempt[]>;
  /** Their window was not over at the end of the history. */
  tooYoung: number;
  /** When the first of these windows ends. */
  countsFrom: Date | null;
  /** Customers paid before the first retry, so these show nothing about retries. */
  paidBefore: number;
  /** Dated after now, and the first date. They do not extend the history. */
  ahead: number;
  aheadFrom: Date | null;
  from: Date;
  to: Date;
}

/** Leaves out invoices that are too young and attempts dated after `now`. */
export function findFailedInvoices(attempts: readonly PastAttempt[], now: Date): FailedInvoices {
  const dated = [...attempts].sort((a, b) => a.at.getTime() - b.at.getTime());
  const sorted = dated.filter(({ at }) => at <= now);
  const to = sorted.at(-1)?.at ?? now;
  const failures: FailedInvoices = {
    invoices: [],
    byCustomer: Map.groupBy(sorted, ({ customerId }) => customerId),
    tooYoung: 0,
    countsFrom: null,
    paidBefore: 0,
    ahead: dated.length - sorted.length,
    aheadFrom: dated[sorted.length]?.at ?? null,
    from: sorted[0]?.at ?? now,
    to,
  };
  for (const [invoiceId, all] of Map.groupBy(sorted, (attempt) => attempt.invoiceId)) {
    const first = all[0]!;
    if (first.approved) continue;
    const endsAt = first.at.getTime() + WINDOW_DAYS * DAY_MS;
    if (endsAt > to.getTime()) {
      failures.tooYoung++;
      // Invoices are sorted, so the first one ends first.
      failures.countsFrom ??= new Date(endsAt);
      continue;
    }
    const paidIndex = all.findIndex(({ approved }) => approved);
    const inWindow = all.slice(0, paidIndex < 0 ? all.length : paidIndex + 1).filter(({ at }) => at.getTime() < endsAt);
    const attempts = inWindow.filter((attempt) => attempt === first || !isCustomerInitiated(attempt));
    const decisions = listDecisions(attempts);
    const last = inWindow.at(-1)!;
    // The customer paid before the next retry, so the system's choice is unknown.
    if (last.approved && isCustomerInitiated(last)) decisions.pop();
    if (decisions.length === 0) failures.paidBefore++;
    else {
      const { customerId, amount, currency } = first;
      failures.invoices.push({ invoiceId, customerId, amount, currency, attempts, decisions });
    }
  }
  return failures;
}

/** A customer can authenticate or use another card, unlike a retry. */
export const isCustomerInitiated = ({ initiator }: PastAttempt) => initiator === "CUSTOMER";

/** With the choice that followed each failure. */
function listDecisions(attempts: readonly PastAttempt[]): EpisodeDecision[] {
  return attempts
    .filter(({ approved }) => !approved)
    .map((failed, k) => {
      const next = attempts[k + 1];
      return {
        situation: situationGroups(attempts[0]!, failed, k),
        choice: next ? retryGapOf(failed.at, next.at) : STOP_CHOICE,
        chance: next?.chance ?? null,
        succeeded: next?.approved ?? false,
      };
    });
}

/** By number, also by decline group, and also by week. */
function situationGroups(first: PastAttempt, failed: PastAttempt, k: number): number[] {
  const failureIndex = Math.min(k, MAX_DISTINCT_FAILURES - 1);
  const kind = failureIndex * DECLINE_GROUPS.length + DECLINE_GROUPS.indexOf(declineGroupOf(failed));
  const week = Math.min(WINDOW_WEEKS - 1, Math.floor((failed.at.getTime() - first.at.getTime()) / (7 * DAY_MS)));
  return [
    failureIndex,
    MAX_DISTINCT_FAILURES + kind,
    MAX_DISTINCT_FAILURES * (1 + DECLINE_GROUPS.length) + kind * WINDOW_WEEKS + week,
  ];
}

/** A system that retries fewer of such declines gives up after them. */
const MIN_RETRIED_SHARE = 0.05;

/** Declines that end retries by the rules, and after which the merchant's system also gives up. */
export function findAbandonedGroups(invoices: readonly FailedInvoice[]): DeclineGroup[] {
  const declines = invoices.flatMap(({ attempts, decisions }) =>
    decisions.map(({ choice }, k) => ({ group: declineGroupOf(attempts[k]!), isRetried: choice !== STOP_CHOICE })),
  );
  return [...Map.groupBy(declines, ({ group }) => group)]
    .filter(([group, some]) => {
      const retriedCount = some.filter(({ isRetried }) => isRetried).length;
      return endsRetries(group) && retriedCount < MIN_RETRIED_SHARE * some.length;
    })
    .map(([group]) => group);
}

export const declineGroupOf = (attempt: PastAttempt): DeclineGroup =>
  findDeclineGroup(attempt, {
    paymentMethodType: attempt.paymentMethodType,
    network: findBrand(attempt.cardBrand, attempt.paymentMethodType),
    cardCountry: attempt.cardCountry,
  });
