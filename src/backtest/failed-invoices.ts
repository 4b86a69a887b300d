import { DAY_MS } from "../domain/durations.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { findBrand } from "../engine/rules/card-networks.ts";
import { DECLINE_GROUPS, type DeclineGroup, endsRetries } from "../engine/rules/decline-groups.ts";
import { findDeclineGroup } from "../engine/rules/interpret-decline.ts";
import type { Episode, EpisodeDecision } from "./estimate.ts";
import { retryGapOf, STOP_CHOICE } from "./retry-gaps.ts";

/** A case's window, as the service has it for a new merchant. */
export const WINDOW_DAYS = MERCHANT_DEFAULTS.windowDays;
/** Decisions after more failures than this are taken together. */
const MAX_DISTINCT_FAILURES = 8;
const WINDOW_WEEKS = WINDOW_DAYS / 7;

/** An invoice whose first attempt failed, with that and the retries of its window, oldest first. */
export interface FailedInvoice extends Episode {
  invoiceId: string;
  currency: string;
  attempts: readonly PastAttempt[];
}

/** The failed invoices of a history. */
export interface FailedInvoices {
  invoices: FailedInvoice[];
  /** All attempts of a customer, oldest first. */
  byCustomer: Map<string, PastAttempt[]>;
  /** Failed invoices whose window was not over when the history ended. */
  tooYoung: number;
  /** When the window of the first of them ends. */
  countsFrom: Date | null;
  /** Failed invoices that their customers paid before the first retry: they say nothing of retries. */
  paidBefore: number;
  /** Attempts that are dated after now, and when the first of them is: they say nothing of when the history ends. */
  ahead: number;
  aheadFrom: Date | null;
  from: Date;
  to: Date;
}

/** The invoices whose first attempt failed, each with what was decided about it. Those too young to judge are left out, and attempts that are dated after `now`. */
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
      // Oldest first: the others' windows end later.
      failures.countsFrom ??= new Date(endsAt);
      continue;
    }
    const paid = all.findIndex(({ approved }) => approved);
    const inWindow = all.slice(0, paid < 0 ? all.length : paid + 1).filter(({ at }) => at.getTime() < endsAt);
    const tried = inWindow.filter((attempt) => attempt === first || !isCustomerInitiated(attempt));
    const decisions = listDecisions(tried);
    const last = inWindow.at(-1)!;
    // The customer came before what the merchant's system would have done next, so nobody knows what that was.
    if (last.approved && isCustomerInitiated(last)) decisions.pop();
    if (decisions.length === 0) failures.paidBefore++;
    else {
      const { customerId, amount, currency } = first;
      failures.invoices.push({ invoiceId, customerId, amount, currency, attempts: tried, decisions });
    }
  }
  return failures;
}

/** A person made it, who may be there where a merchant is not, and have another card. */
export const isCustomerInitiated = ({ initiator }: PastAttempt) => initiator === "CUSTOMER";

/** After each failure: what was known, and what came next. */
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

/** Numbers of the groups that a decision belongs to: by its number, by the kind of the decline too, by the weeks left too. */
function situationGroups(first: PastAttempt, failed: PastAttempt, k: number): number[] {
  const tries = Math.min(k, MAX_DISTINCT_FAILURES - 1);
  const kind = tries * DECLINE_GROUPS.length + DECLINE_GROUPS.indexOf(declineGroupOf(failed));
  const week = Math.min(WINDOW_WEEKS - 1, Math.floor((failed.at.getTime() - first.at.getTime()) / (7 * DAY_MS)));
  return [
    tries,
    MAX_DISTINCT_FAILURES + kind,
    MAX_DISTINCT_FAILURES * (1 + DECLINE_GROUPS.length) + kind * WINDOW_WEEKS + week,
  ];
}

/** A system that tries again after fewer of such declines than this gives up after them. */
const MIN_RETRIED_SHARE = 0.05;

/** The declines that end retries, by the rules, and after which the merchant's own system gives up, too. */
export function findAbandonedGroups(invoices: readonly FailedInvoice[]): DeclineGroup[] {
  const made = invoices.flatMap(({ attempts, decisions }) =>
    decisions.map(({ choice }, k) => ({ group: declineGroupOf(attempts[k]!), tried: Number(choice !== STOP_CHOICE) })),
  );
  return [...Map.groupBy(made, ({ group }) => group)]
    .filter(([group, some]) => {
      const tried = some.reduce((sum, { tried }) => sum + tried, 0);
      return endsRetries(group) && tried < MIN_RETRIED_SHARE * some.length;
    })
    .map(([group]) => group);
}

/** Why an attempt failed. */
export const declineGroupOf = (attempt: PastAttempt): DeclineGroup =>
  findDeclineGroup(attempt, {
    paymentMethodType: attempt.paymentMethodType,
    network: findBrand(attempt.cardBrand, attempt.paymentMethodType),
    cardCountry: attempt.cardCountry,
  });
