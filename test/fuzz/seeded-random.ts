import { namedSequence } from "../simulation/stage/random-sequence.ts";

/** Random numbers from a seed: the same seed repeats the run. */
export interface SeededRandom {
  /** Returns 0 to `below` - 1. */
  upTo(below: number): number;
  pick<T>(values: readonly T[]): T;
  /** Whether it happens this time, once in `times` on average. */
  once(times: number): boolean;
}

export function createSeededRandom(seed: number, name: string): SeededRandom {
  const next = namedSequence(seed, name);
  const upTo = (below: number) => Math.floor(next() * below);
  return { upTo, pick: (values) => values[upTo(values.length)]!, once: (times) => upTo(times) === 0 };
}
