import { keyedRandom } from "../../../simulator/world/keyed-random.ts";

/** Creates a sequence of numbers in [0, 1) from a seed (mulberry32). */
function createSequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Creates a separate sequence for each name. */
export const namedSequence = (seed: number, name: string) =>
  createSequence(Math.floor(keyedRandom(seed, name) * 2 ** 32));
