import { keyedUniform } from "./keyed-uniform.ts";

/**
 * A stream of draws seeded by one key: a step of a life takes a varying number of draws, so they need no numbers of their own.
 */
export interface RandomStream {
  /** Restarts the stream; keys as in `keyedUniform`. The following draws depend only on them. */
  begin(a: number, b: number, c: number, d: number): void;
  /** In [0, 1). */
  draw(): number;
  /** Approximately standard normal, within 3.5. */
  bell(): number;
}

/** Each world has its own stream, so worlds that run side by side do not take each other's draws. */
export function createRandomStream(): RandomStream {
  let state = 1;
  // Marsaglia's xorshift; only 0 would stop it.
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
    // The sum of four uniform draws has a variance of a third.
    bell: () => (draw() + draw() + draw() + draw() - 2) * Math.sqrt(3),
  };
}
