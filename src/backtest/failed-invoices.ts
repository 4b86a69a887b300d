import { DAY_MS } from "../domain/durations.ts";
import { MERCHANT_DEFAULTS } from "../domain/merchant.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { brandOf } from "../rules/card-networks.ts";
import { declineGroup } from "../rules/decline-group.ts";
import { DECLINE_GROUPS, type DeclineGroup, endsRetries } from "../rules/decline-groups.ts";
import type { Decided, Episode } from "./estimate.ts";
import { gapOf, STOP } from "./gaps.ts";

/** A case's window, as the service has it for a new merchant. */
export const WINDOW_DAYS = MERCHANT_DEFAULTS.windowDays;
/** Decisions after more failures than this are taken together. */
const TRIES_MAX = 8;
const WEEKS = WINDOW_DAYS / 7;

/** An invoice whose first attempt failed, with that and the retries of its window, oldest first. */
export interface FailedInvoice extends Episode {
  invoiceId: string;
  currency: string;
  attempts: readonly PastAttempt[];
}

/** The failed invoices of a history. */
export interface Failures {
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
export function failuresOf(attempts: readonly PastAttempt[], now: Date): Failures {
  const dated = [...attempts].sort((a, b) => a.at.getTime() - b.at.getTime());
  const sorted = dated.filter(({ at }) => at <= now);
  const to = sorted.at(-1)?.at ?? now;
  const failures: Failures = {
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
    const tried = inWindow.filter((attempt) => attempt === first || !isCustomers(attempt));
    const decisions = decisionsOf(tried);
    const last = inWindow.at(-1)!;
    // The customer came before what the merchant's system would have done next, so nobody knows what that was.
    if (last.approved && isCustomers(last)) decisions.pop();
    if (decisions.length === 0) failures.paidBefore++;
    else {
      const { customerId, amount, currency } = first;
      failures.invoices.push({ invoiceId, customerId, amount, currency, attempts: tried, decisions });
    }
  }
  return failures;
}

/** A person made it, who may be there where a merchant is not, and have another card. */
export const isCustomers = ({ initiator }: PastAttempt) => initiator === "CUSTOMER";

/** After each failure: what was known, and what came next. */
function decisionsOf(attempts: readonly PastAttempt[]): Decided[] {
  return attempts
    .filter(({ approved }) => !approved)
    .map((failed, k) => {
      const next = attempts[k + 1];
      return {
        situation: situationOf(attempts[0]!, failed, k),
        choice: next ? gapOf(failed.at, next.at) : STOP,
        chance: next?.chance ?? null,
        succeeded: next?.approved ?? false,
      };
    });
}

/** Numbers of the groups that a decision belongs to: by its number, by the kind of the decline too, by the weeks left too. */
function situationOf(first: PastAttempt, failed: PastAttempt, k: number): number[] {
  const tries = Math.min(k, TRIES_MAX - 1);
  const kind = tries * DECLINE_GROUPS.length + DECLINE_GROUPS.indexOf(groupOf(failed));
  const week = Math.min(WEEKS - 1, Math.floor((failed.at.getTime() - first.at.getTime()) / (7 * DAY_MS)));
  return [tries, TRIES_MAX + kind, TRIES_MAX * (1 + DECLINE_GROUPS.length) + kind * WEEKS + week];
}

/** A system that tries again after fewer of such declines than this gives up after them. */
const TRIED_MIN = 0.05;

/** The declines that end retries, by the rules, and after which the merchant's own system gives up, too. */
export function givenUpOf(invoices: readonly FailedInvoice[]): DeclineGroup[] {
  const made = invoices.flatMap(({ attempts, decisions }) =>
    decisions.map(({ choice }, k) => ({ group: groupOf(attempts[k]!), tried: Number(choice !== STOP) })),
  );
  return [...Map.groupBy(made, ({ group }) => group)]
    .filter(([group, some]) => {
      const tried = some.reduce((sum, { tried }) => sum + tried, 0);
      return endsRetries(group) && tried < TRIED_MIN * some.length;
    })
    .map(([group]) => group);
}

/** Why an attempt failed. */
export const groupOf = (attempt: PastAttempt): DeclineGroup =>
  declineGroup(attempt, {
    paymentMethodType: attempt.paymentMethodType,
    network: brandOf(attempt.cardBrand, attempt.paymentMethodType),
    cardCountry: attempt.cardCountry,
  });
