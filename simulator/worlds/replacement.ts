import { choose, DAY_MS } from "./coin.ts";
import type { Luck } from "./luck.ts";
import { STEPS_A_DAY, stepAt } from "./steps.ts";

/**
 * How a merchant learns of a customer's new card: its network token goes on silently, an account updater's batch brings
 * it, the holder types it in, or never.
 */
type Way = "silent" | "batch" | "holder" | "never";

/** The one time within the year, if at all, that a customer's card is replaced. */
export interface Replacement {
  step: number;
  way: Way;
  /** Of charges to the old card. */
  code: string;
}

/** What changes about a card. */
export interface CardState {
  /** How often it has been replaced where the merchant charges it. */
  card: number;
  /** How the new one will come to the merchant; null: nothing is wrong with the one it has. */
  awaits: Way | null;
  /** Steps since the old one was refused first; 0: not yet. */
  refusedFor: number;
}

export const goodCard = (): CardState => ({ card: 0, awaits: null, refusedFor: 0 });

/** Codes of cards that nobody brings a new one for; others have expired, most of them. */
const LOST = ["14", "41", "43", "14"];
const EXPIRED = 0.83;

/** Share of the old cards which are replaced in that way that have the code. */
export function oldCodeShare(way: Way, code: string): number {
  if (way === "never") return LOST.filter((each) => each === code).length / LOST.length;
  return code === "54" ? EXPIRED : code === "14" ? 1 - EXPIRED : 0;
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
export function replacementOf(
  from: number,
  aYear: number,
  ways: readonly (readonly [Way, number])[],
  draw: (what: number) => number,
): Replacement {
  const way = choose(draw(2), ways);
  return {
    step: stepAt(from - (Math.log(1 - draw(1)) * 365 * DAY_MS) / aYear),
    way,
    code: way === "never" ? LOST[Math.floor(LOST.length * draw(3))]! : draw(4) < EXPIRED ? "54" : "14",
  };
}

/** At the step of the replacement. */
export function replace(state: CardState, { way }: Replacement) {
  if (way === "silent") state.card++;
  else state.awaits = way;
  state.refusedFor = 0;
}

/** Three hours of a card that has been replaced: `isBatch` says whether updaters run, `holder` is the chance that its holder types the new one in. */
export function renew(state: CardState, isBatch: boolean, holder: number, luck: Luck) {
  if (state.refusedFor > 0) state.refusedFor++;
  const days = state.refusedFor / STEPS_A_DAY;
  // Batches find a card in the course of ten days, all of them at last.
  const isFound = state.awaits === "batch" && isBatch && days > 1 && luck.draw() < (days > 10 ? 1 : 0.24);
  const isTyped = state.awaits === "holder" && holder > 0 && luck.draw() < holder;
  if (!isFound && !isTyped && days <= LOST_DAYS) return;
  state.awaits = null;
  state.refusedFor = 0;
  state.card++;
}
