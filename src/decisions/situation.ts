import { type ReadDecline, readDecline } from "../rules/decline-group.ts";
import { type Guard, guardOf } from "../rules/guard.ts";
import type { Known } from "./known.ts";
import { anchorOf } from "./spread.ts";
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
    decline: last && readDecline(last, known),
    isNewCard: changedAt !== null && last === null && anchorOf(known) < changedAt,
    place: whereabouts(known),
  };
}
