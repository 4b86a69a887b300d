import { namedSequence } from "../simulation/stage/random-sequence.ts";

/** Chance from a seed: the same seed makes the same run. */
export interface SeededRandom {
  /** 0 to `below` - 1. */
  upTo(below: number): number;
  pick<T>(values: readonly T[]): T;
  /** Whether it happens this time, once in `times`. */
  once(times: number): boolean;
}

export function createSeededRandom(seed: number, name: string): SeededRandom {
  const next = namedSequence(seed, name);
  const upTo = (below: number) => Math.floor(next() * below);
  return { upTo, pick: (values) => values[upTo(values.length)]!, once: (times) => upTo(times) === 0 };
}
