import { DAY_MS } from "../domain/durations.ts";
import { cardNetwork } from "../rules/card-networks.ts";
import { type ReadDecline, readDecline } from "../rules/decline-group.ts";
import { type Guard, guardOf } from "../rules/guard.ts";
import type { Ruling } from "../rules/ledger.ts";
import { fewest } from "../rules/plan-limits.ts";
import { mayWantCustomer } from "../rules/response-codes.ts";
import type { Known } from "./known.ts";
import { anchorOf, GAP_MIN_MS } from "./moments.ts";
import { upAgainAt } from "./outage.ts";
import { type Whereabouts, whereabouts } from "./whereabouts.ts";

/** The situation, read once from what is known. */
export interface Situation {
  known: Known;
  now: number;
  guard: Guard;
  /** The latest decline of the present card. */
  decline: ReadDecline | null;
  /** A new card came and was not tried on this invoice yet. */
  isNewCard: boolean;
  /** From when on the card's bank, which was found down, may be tried again; 0: nobody found it so. */
  upAgainAt: number;
  place: Whereabouts;
}

/** Read the codes, the rules and the place out of what is known. */
export function situationOf(known: Known, now: Date): Situation {
  const changedAt = known.cardChangedAt?.getTime() ?? null;
  const last =
    known.lastDecline && (changedAt === null || known.lastDecline.at.getTime() >= changedAt) ? known.lastDecline : null;
  const isSeen = last !== null && known.ledger.some((entry) => entry.onPresentCard && +entry.at === +last.at);
  const guard = guardOf({
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
    decline: last && (wantsCustomer(known) ? { ...readDecline(last, known), ...CONFIRM } : readDecline(last, known)),
    upAgainAt: known.issuerDownAt === null ? 0 : upAgainAt(known.issuerDownAt),
    isNewCard: changedAt !== null && last === null && anchorOf(known) < changedAt,
    place: whereabouts(known),
  };
}

/** A try that comes within a day after a wait comes because of it: of most days two hours are weighed. */
const SOON_MS = DAY_MS;
export const isSoonAfter = (at: number, over: number) => at >= over && at < over + SOON_MS;

/**
 * The wait because of which a try comes when it does; null: none.
 *
 * @param from  the first moment that was thought of: a wait that was over by then kept nothing back
 */
export function waitBefore({ known, guard: { notBefore } }: Situation, at: number, from: number): Ruling | null {
  const over = notBefore ? notBefore.at + known.leadMs : 0;
  return over > from && isSoonAfter(at, over) ? notBefore : null;
}

/** How many tries are left until the window ends, and the rule by which they are fewer than the budget; null: it is the budget. */
export function triesLeftOf({ known, guard }: Situation): { count: number; rule: Ruling | null } {
  const span = [anchorOf(known), known.windowEndsAt.getTime()] as const;
  const fewer = fewest(guard, span, GAP_MIN_MS, known.budgetLeft);
  return { count: fewer?.count ?? known.budgetLeft, rule: fewer };
}

const CONFIRM = {
  group: "AUTH_REQUIRED",
  words: "the bank still says what may mean that the customer has to confirm",
} as const;
/** A limit of payments is over after as many tries as this. */
const LIMIT_TRIES = 3;

/** Each of the latest tries of the invoice met a code that is a limit or wants the customer: by now it is no limit. */
function wantsCustomer({ ledger, network, cardCountry }: Known): boolean {
  const { dialect } = cardNetwork(network);
  const latest = ledger
    .filter(({ onThisInvoice, onPresentCard, approved }) => onThisInvoice && onPresentCard && approved === false)
    .sort((a, b) => +b.at - +a.at)
    .slice(0, LIMIT_TRIES);
  const isDoubtful = (code: string | null | undefined) => !!code && mayWantCustomer(code, dialect, cardCountry);
  return latest.length === LIMIT_TRIES && latest.every(({ codes }) => isDoubtful(codes?.networkDeclineCode));
}
