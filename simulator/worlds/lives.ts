import { type CardState, type Replacement, replace } from "./replacement.ts";

/** Somebody who lives step by step, whose card is replaced once and who leaves one day. */
export interface Life {
  /** All up to and including this step has happened. */
  step: number;
  state: CardState;
  replacement: Replacement;
  leavesAt: number;
  hasLeft: boolean;
}

/** Lives on through the step `until`; `live` is what happens in a step besides. */
export function liveOn(life: Life, until: number, live: (step: number) => void) {
  while (life.step < until) {
    life.step++;
    live(life.step);
    if (life.step === life.replacement.step) replace(life.state, life.replacement);
    if (life.step === life.leavesAt) life.hasLeft = true;
  }
}
