import { chooseWeighted, DAY_MS } from "./keyed-uniform.ts";
import type { RandomStream } from "./random-stream.ts";
import { STEPS_PER_DAY, stepOf } from "./simulation-steps.ts";

/** Through a network token, an account updater's batch, the holder, or never. */
type ReplacementRoute = "silent" | "batch" | "holder" | "never";

export interface CardReplacement {
  step: number;
  route: ReplacementRoute;
  code: string;
}

export interface CardState {
  card: number;
  /** How the new card reaches the merchant; null if the old one works. */
  awaits: ReplacementRoute | null;
  refusedFor: number;
}

export const newCardState = (): CardState => ({ card: 0, awaits: null, refusedFor: 0 });

const LOST_CARD_CODES = ["14", "41", "43", "14"];
const EXPIRED_RATE = 0.83;

export function oldCardCodeRate(route: ReplacementRoute, code: string): number {
  if (route === "never") return LOST_CARD_CODES.filter((each) => each === code).length / LOST_CARD_CODES.length;
  return code === "54" ? EXPIRED_RATE : code === "14" ? 1 - EXPIRED_RATE : 0;
}

/** After so many days the customer subscribes again. */
const LOST_DAYS = 28;

/**
 * @param from  in ms
 * @param aYear  replacements per customer and year
 * @param draw  the customer's draws by purpose: 1 to 4
 */
export function drawReplacement(
  from: number,
  aYear: number,
  routes: readonly (readonly [ReplacementRoute, number])[],
  draw: (purpose: number) => number,
): CardReplacement {
  const route = chooseWeighted(draw(2), routes);
  return {
    step: stepOf(from - (Math.log(1 - draw(1)) * 365 * DAY_MS) / aYear),
    route,
    code:
      route === "never"
        ? LOST_CARD_CODES[Math.floor(LOST_CARD_CODES.length * draw(3))]!
        : draw(4) < EXPIRED_RATE
          ? "54"
          : "14",
  };
}

export function applyReplacement(state: CardState, { route }: CardReplacement) {
  if (route === "silent") state.card++;
  else state.awaits = route;
  state.refusedFor = 0;
}

/** By three hours. `isBatch`: updaters run. `holder`: the chance that the holder enters the card. */
export function advanceRenewal(state: CardState, isBatch: boolean, holder: number, random: RandomStream) {
  if (state.refusedFor > 0) state.refusedFor++;
  const days = state.refusedFor / STEPS_PER_DAY;
  const isFound = state.awaits === "batch" && isBatch && days > 1 && random.draw() < (days > 10 ? 1 : 0.24);
  const isTyped = state.awaits === "holder" && holder > 0 && random.draw() < holder;
  if (!isFound && !isTyped && days <= LOST_DAYS) return;
  state.awaits = null;
  state.refusedFor = 0;
  state.card++;
}
