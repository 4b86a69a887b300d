import { chooseWeighted, DAY_MS } from "./keyed-uniform.ts";
import type { RandomStream } from "./random-stream.ts";
import { STEPS_PER_DAY, stepOf } from "./simulation-steps.ts";

/**
 * How a merchant learns of a customer's new card: its network token goes on silently, an account updater's batch brings
 * it, the holder types it in, or never.
 */
type ReplacementRoute = "silent" | "batch" | "holder" | "never";

/** The one time within the year, if at all, that a customer's card is replaced. */
export interface CardReplacement {
  step: number;
  way: ReplacementRoute;
  /** Of charges to the old card. */
  code: string;
}

/** What changes about a card. */
export interface CardState {
  /** How often it has been replaced where the merchant charges it. */
  card: number;
  /** How the new one will come to the merchant; null: nothing is wrong with the one it has. */
  awaits: ReplacementRoute | null;
  /** Steps since the old one was refused first; 0: not yet. */
  refusedFor: number;
}

export const newCardState = (): CardState => ({ card: 0, awaits: null, refusedFor: 0 });

/** Codes of cards that nobody brings a new one for; others have expired, most of them. */
const LOST_CARD_CODES = ["14", "41", "43", "14"];
const EXPIRED_RATE = 0.83;

/** Share of the old cards which are replaced in that way that have the code. */
export function oldCardCodeRate(way: ReplacementRoute, code: string): number {
  if (way === "never") return LOST_CARD_CODES.filter((each) => each === code).length / LOST_CARD_CODES.length;
  return code === "54" ? EXPIRED_RATE : code === "14" ? 1 - EXPIRED_RATE : 0;
}

/** After so many days of refusals the customer subscribes anew, whatever the way. */
const LOST_DAYS = 28;

/**
 * When and how a customer's card is replaced.
 *
 * @param from  ms, from which on it may be
 * @param aYear  how many a customer and year
 * @param draw  coins of the customer by what they are for: 1 to 4
 */
export function drawReplacement(
  from: number,
  aYear: number,
  ways: readonly (readonly [ReplacementRoute, number])[],
  draw: (what: number) => number,
): CardReplacement {
  const way = chooseWeighted(draw(2), ways);
  return {
    step: stepOf(from - (Math.log(1 - draw(1)) * 365 * DAY_MS) / aYear),
    way,
    code:
      way === "never"
        ? LOST_CARD_CODES[Math.floor(LOST_CARD_CODES.length * draw(3))]!
        : draw(4) < EXPIRED_RATE
          ? "54"
          : "14",
  };
}

/** At the step of the replacement. */
export function applyReplacement(state: CardState, { way }: CardReplacement) {
  if (way === "silent") state.card++;
  else state.awaits = way;
  state.refusedFor = 0;
}

/** Three hours of a card that has been replaced: `isBatch` says whether updaters run, `holder` is the chance that its holder types the new one in. */
export function advanceRenewal(state: CardState, isBatch: boolean, holder: number, luck: RandomStream) {
  if (state.refusedFor > 0) state.refusedFor++;
  const days = state.refusedFor / STEPS_PER_DAY;
  // Batches find a card in the course of ten days, all of them at last.
  const isFound = state.awaits === "batch" && isBatch && days > 1 && luck.draw() < (days > 10 ? 1 : 0.24);
  const isTyped = state.awaits === "holder" && holder > 0 && luck.draw() < holder;
  if (!isFound && !isTyped && days <= LOST_DAYS) return;
  state.awaits = null;
  state.refusedFor = 0;
  state.card++;
}
