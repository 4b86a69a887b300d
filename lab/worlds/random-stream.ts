import { keyedUniform } from "./keyed-uniform.ts";

/** A run of draws that one coin begins: a step of a life takes now two and now ten, and none needs a number of its own. */
export interface RandomStream {
  /** Begins anew; keys as of `coin`. What is drawn until the next beginning hangs on them alone. */
  begin(a: number, b: number, c: number, d: number): void;
  /** In [0, 1). */
  draw(): number;
  /** About standard normal, within 3.5. */
  bell(): number;
}

/** Luck of one's own, so that worlds that run side by side don't take each other's draws. */
export function createRandomStream(): RandomStream {
  let state = 1;
  // Marsaglia's xorshift, which only 0 stops.
  const draw = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
  return {
    begin(a, b, c, d) {
      state = (keyedUniform(a, b, c, d) * 4_294_967_296) | 0 || 1;
    },
    draw,
    // Four uniform draws have a variance of a third.
    bell: () => (draw() + draw() + draw() + draw() - 2) * Math.sqrt(3),
  };
}
