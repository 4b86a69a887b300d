import { applyReplacement, type CardReplacement, type CardState } from "./card-replacement.ts";

/** A customer simulated step by step, whose card is replaced once and who leaves one day. */
export interface SimulatedLife {
  /** The state is current up to and including this step. */
  step: number;
  state: CardState;
  replacement: CardReplacement;
  leavesAt: number;
  hasLeft: boolean;
}

/** Advances the life through the step `until`. `live` adds the world's own events to a step. */
export function advanceLife(life: SimulatedLife, until: number, live: (step: number) => void) {
  while (life.step < until) {
    life.step++;
    live(life.step);
    if (life.step === life.replacement.step) applyReplacement(life.state, life.replacement);
    if (life.step === life.leavesAt) life.hasLeft = true;
  }
}
