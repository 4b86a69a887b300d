import { keyedUniform } from "./keyed-uniform.ts";

export interface RandomStream {
  /** Restarts the stream. The draws that follow depend only on the keys. */
  begin(a: number, b: number, c: number, d: number): void;
  /** In [0, 1). */
  draw(): number;
  /** Approximately standard normal, within 3.5. */
  bell(): number;
}

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
    bell: () => (draw() + draw() + draw() + draw() - 2) * Math.sqrt(3),
  };
}
