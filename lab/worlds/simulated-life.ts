import { applyReplacement, type CardReplacement, type CardState } from "./card-replacement.ts";

/** Somebody who lives step by step, whose card is replaced once and who leaves one day. */
export interface SimulatedLife {
  /** All up to and including this step has happened. */
  step: number;
  state: CardState;
  replacement: CardReplacement;
  leavesAt: number;
  hasLeft: boolean;
}

/** Lives on through the step `until`; `live` is what happens in a step besides. */
export function advanceLife(life: SimulatedLife, until: number, live: (step: number) => void) {
  while (life.step < until) {
    life.step++;
    live(life.step);
    if (life.step === life.replacement.step) applyReplacement(life.state, life.replacement);
    if (life.step === life.leavesAt) life.hasLeft = true;
  }
}
