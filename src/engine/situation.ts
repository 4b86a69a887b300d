import { DAY_MS } from "../domain/durations.ts";
import { lastAttemptTime, MIN_GAP_MS } from "./candidate-times.ts";
import { type CustomerLocale, findCustomerLocale } from "./customer-locale.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { outageWaitEnd } from "./detect-outage.ts";
import type { Ruling } from "./rules/attempt-ledger.ts";
import { findCardNetwork } from "./rules/card-networks.ts";
import { buildGuard, type Guard } from "./rules/guard.ts";
import { type InterpretedDecline, interpretDecline } from "./rules/interpret-decline.ts";
import { findTightestLimit } from "./rules/plan-limits.ts";
import { mayNeedCustomer } from "./rules/response-codes.ts";

/** The situation, read once from what is known. */
export interface Situation {
  known: DecisionFacts;
  now: number;
  guard: Guard;
  /** The latest decline of the present card. */
  decline: InterpretedDecline | null;
  /** A new card came and was not tried on this invoice yet. */
  isNewCard: boolean;
  /** From when on the card's bank, which was found down, may be tried again; 0: nobody found it so. */
  upAgainAt: number;
  place: CustomerLocale;
}

/** Read the codes, the rules and the place out of what is known. */
export function buildSituation(known: DecisionFacts, now: Date): Situation {
  const changedAt = known.cardChangedAt?.getTime() ?? null;
  const last =
    known.lastDecline && (changedAt === null || known.lastDecline.at.getTime() >= changedAt) ? known.lastDecline : null;
  const isSeen = last !== null && known.ledger.some((entry) => entry.onPresentCard && +entry.at === +last.at);
  const guard = buildGuard({
    instrument: known,
    amount: known.amount,
    // The last decline counts also where the ledger does not reach back to it.
    ledger:
      last === null || isSeen
        ? known.ledger
        : [
            {
              at: last.at,
              amount: known.amount,
              approved: false,
              onThisInvoice: true,
              onPresentCard: true,
              codes: last,
            },
            ...known.ledger,
          ],
    firstTriedAt: changedAt === null ? known.unpaidAt : null,
    earlyMs: known.leadMs,
  });
  return {
    known,
    now: now.getTime(),
    guard,
    decline:
      last &&
      (needsCustomer(known)
        ? { ...interpretDecline(last, known), ...CONFIRMATION_DECLINE }
        : interpretDecline(last, known)),
    upAgainAt: known.issuerDownAt === null ? 0 : outageWaitEnd(known.issuerDownAt),
    isNewCard: changedAt !== null && last === null && lastAttemptTime(known) < changedAt,
    place: findCustomerLocale(known),
  };
}

/** A try that comes within a day after a wait comes because of it: of most days two hours are weighed. */
const SOON_AFTER_MS = DAY_MS;
export const isSoonAfter = (at: number, over: number) => at >= over && at < over + SOON_AFTER_MS;

/**
 * The wait because of which a try comes when it does; null: none.
 *
 * @param from  the first moment that was thought of: a wait that was over by then kept nothing back
 */
export function findWaitBefore({ known, guard: { notBefore } }: Situation, at: number, from: number): Ruling | null {
  const over = notBefore ? notBefore.at + known.leadMs : 0;
  return over > from && isSoonAfter(at, over) ? notBefore : null;
}

/** How many tries are left until the window ends, and the rule by which they are fewer than the budget; null: it is the budget. */
export function retriesLeftOf({ known, guard }: Situation): { count: number; rule: Ruling | null } {
  const span = [lastAttemptTime(known), known.windowEndsAt.getTime()] as const;
  const fewer = findTightestLimit(guard, span, MIN_GAP_MS, known.budgetLeft);
  return { count: fewer?.count ?? known.budgetLeft, rule: fewer };
}

const CONFIRMATION_DECLINE = {
  group: "AUTH_REQUIRED",
  words: "the bank still says what may mean that the customer has to confirm",
} as const;
/** A limit of payments is over after as many tries as this. */
const LIMIT_ATTEMPT_COUNT = 3;

/** Each of the latest tries of the invoice met a code that is a limit or wants the customer: by now it is no limit. */
function needsCustomer({ ledger, network, cardCountry }: DecisionFacts): boolean {
  const { dialect } = findCardNetwork(network);
  const latest = ledger
    .filter(({ onThisInvoice, onPresentCard, approved }) => onThisInvoice && onPresentCard && approved === false)
    .sort((a, b) => +b.at - +a.at)
    .slice(0, LIMIT_ATTEMPT_COUNT);
  const isDoubtful = (code: string | null | undefined) => !!code && mayNeedCustomer(code, dialect, cardCountry);
  return latest.length === LIMIT_ATTEMPT_COUNT && latest.every(({ codes }) => isDoubtful(codes?.networkDeclineCode));
}
