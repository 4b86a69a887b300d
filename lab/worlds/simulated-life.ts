import { applyReplacement, type CardReplacement, type CardState } from "./card-replacement.ts";

export interface SimulatedLife {
  step: number;
  state: CardState;
  replacement: CardReplacement;
  leavesAt: number;
  hasLeft: boolean;
}

/** Through the step `until`. `live` adds the world's own events. */
export function advanceLife(life: SimulatedLife, until: number, live: (step: number) => void) {
  while (life.step < until) {
    life.step++;
    live(life.step);
    if (life.step === life.replacement.step) applyReplacement(life.state, life.replacement);
    if (life.step === life.leavesAt) life.hasLeft = true;
  }
}
