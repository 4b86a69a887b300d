import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { lastAttemptTime, MIN_GAP_MS } from "./candidate-times.ts";
import { type CustomerLocale, findCustomerLocale } from "./customer-locale.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { outageWaitEnd } from "./detect-outage.ts";
import type { CustomerHistory } from "./infer-posterior.ts";
import { formatZonedTime } from "./local-time.ts";
import { buildQuietGuard } from "./quiet-times.ts";
import { describePostponement } from "./requests-by-hand.ts";
import type { Ruling } from "./rules/attempt-ledger.ts";
import { findCardNetwork } from "./rules/card-networks.ts";
import { buildGuard, type Guard } from "./rules/guard.ts";
import { type InterpretedDecline, interpretDecline } from "./rules/interpret-decline.ts";
import { findTightestLimit } from "./rules/plan-limits.ts";
import { mayNeedCustomer } from "./rules/response-codes.ts";
import { SOURCES } from "./rules/sources.ts";

/** Times are milliseconds. */
export interface DecisionContext {
  facts: DecisionFacts;
  /** Null for the static policy, which ignores other invoices. */
  history: CustomerHistory | null;
  now: number;
  guard: Guard;
  decline: InterpretedDecline | null;
  /** Whether a new card was not yet charged for this invoice. */
  isNewCard: boolean;
  /** 0: no known outage. */
  issuerUpAt: number;
  locale: CustomerLocale;
}

export function buildDecisionContext(
  facts: DecisionFacts,
  now: Date,
  history: CustomerHistory | null = null,
): DecisionContext {
  const changedAt = facts.cardChangedAt?.getTime() ?? null;
  const last =
    facts.lastDecline && (changedAt === null || facts.lastDecline.at.getTime() >= changedAt) ? facts.lastDecline : null;
  const isSeen = last !== null && facts.ledger.some((entry) => entry.onPresentCard && +entry.at === +last.at);
  const locale = findCustomerLocale(facts);
  const rules = buildGuard({
    instrument: facts,
    amount: facts.amount,
    // Even if the ledger does not reach back to it.
    ledger:
      last === null || isSeen
        ? facts.ledger
        : [
            {
              at: last.at,
              amount: facts.amount,
              approved: false,
              onThisInvoice: true,
              onPresentCard: true,
              codes: last,
            },
            ...facts.ledger,
          ],
    firstTriedAt: changedAt === null ? facts.unpaidAt : null,
    earlyMs: facts.leadMs,
  });
  const postponed = addPostponement(rules, facts.postponedUntil, locale);
  const quiet = facts.quietTimes && buildQuietGuard(facts.quietTimes, locale.zone);
  const guard = quiet ? { ...postponed, quiet } : postponed;
  return {
    facts,
    history,
    now: now.getTime(),
    guard,
    decline:
      last &&
      (needsCustomer(facts)
        ? { ...interpretDecline(last, facts), ...CONFIRMATION_DECLINE }
        : interpretDecline(last, facts)),
    issuerUpAt: facts.issuerDownAt === null ? 0 : outageWaitEnd(facts.issuerDownAt),
    isNewCard: changedAt !== null && last === null && lastAttemptTime(facts) < changedAt,
    locale,
  };
}

/** Holds retries back as a bank's advice does. */
function addPostponement(guard: Guard, until: Date | null, { zone }: CustomerLocale): Guard {
  const at = until?.getTime() ?? 0;
  if (at <= (guard.notBefore?.at ?? 0)) return guard;
  const sentence = describePostponement(formatZonedTime(zone, at));
  return { ...guard, notBefore: { sentence, source: SOURCES.postponed, at } };
}

/** Counts as the wait's result: most days have only two possible hours. */
const SOON_AFTER_MS = DAY_MS;
export const isSoonAfter = (at: number, upAt: number) => at >= upAt && at < upAt + SOON_AFTER_MS;

/**
 * The wait that determined a retry's time; null: none.
 *
 * @param from  a wait that ended before this held nothing back
 */
export function findWaitBefore(
  { facts, guard: { notBefore } }: DecisionContext,
  at: number,
  from: number,
): Ruling | null {
  const upAt = notBefore ? notBefore.at + facts.leadMs : 0;
  return upAt > from && isSoonAfter(at, upAt) ? notBefore : null;
}

const HOURS_BEFORE = 24;

/** The quiet time that kept a retry from an earlier hour of the day before it; null: none. */
export function findQuietBefore({ guard: { quiet } }: DecisionContext, at: number, from: number): Ruling | null {
  if (!quiet) return null;
  for (let hours = 1; hours <= HOURS_BEFORE; hours++) {
    const earlier = at - hours * HOUR_MS;
    const ruling = earlier > from && quiet.rulingAt(earlier);
    if (ruling) return ruling;
  }
  return null;
}

/** `rule`: leaves fewer than the budget; null: the budget limits them. */
export function retriesLeftOf({ facts, guard }: DecisionContext): { count: number; rule: Ruling | null } {
  const span = [lastAttemptTime(facts), facts.windowEndsAt.getTime()] as const;
  const fewer = findTightestLimit(guard, span, MIN_GAP_MS, facts.budgetLeft);
  return { count: fewer?.count ?? facts.budgetLeft, rule: fewer };
}

const CONFIRMATION_DECLINE = {
  group: "AUTH_REQUIRED",
  words: "the bank still says what may mean that the customer has to confirm",
} as const;
/** A payment limit has ended by then. */
const LIMIT_ATTEMPT_COUNT = 3;

/** Each of the latest attempts met a code for a limit or a needed customer. After so many it is no limit. */
function needsCustomer({ ledger, network, cardCountry }: DecisionFacts): boolean {
  const { dialect } = findCardNetwork(network);
  const latest = ledger
    .filter(({ onThisInvoice, onPresentCard, approved }) => onThisInvoice && onPresentCard && approved === false)
    .sort((a, b) => +b.at - +a.at)
    .slice(0, LIMIT_ATTEMPT_COUNT);
  const isDoubtful = (code: string | null | undefined) => !!code && mayNeedCustomer(code, dialect, cardCountry);
  return latest.length === LIMIT_ATTEMPT_COUNT && latest.every(({ codes }) => isDoubtful(codes?.networkDeclineCode));
}
