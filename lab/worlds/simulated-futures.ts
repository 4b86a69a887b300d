import { DAY_MS } from "./keyed-uniform.ts";
import { stepOf } from "./simulation-steps.ts";

/** Per oracle query: a chance's standard error is at most 8 points, and plans stay cheap. */
const FUTURE_COUNT = 40;
const MAX_CACHED_INVOICES = 200;

interface Futures {
  version: number;
  builtAt: number;
  firstStep: number;
  steps: number;
  met: Float32Array;
}

export interface PresentState<State> {
  billId: string;
  /** Changes with every charge that changes the state. */
  version: number;
  now: number;
  until: number;
  state: State;
  begin(firstStep: number): void;
  live(states: readonly State[], step: number): void;
  meets(state: State): number;
}

/**
 * The oracle's foresight: lives from the true present state, with their own luck. It knows the state but not the future. Cached
 * by invoice, because many times are asked about.
 *
 * @param fresh  makes a state, which is overwritten
 */
export function createFutureOracle<State extends object>(fresh: () => State) {
  const states = Array.from({ length: FUTURE_COUNT }, fresh);
  const weights = new Float64Array(FUTURE_COUNT);
  const kept = new Map<string, Futures>();

  function build({ version, now, until, state, begin, live, meets }: PresentState<State>): Futures {
    const firstStep = stepOf(now);
    const steps = Math.max(1, stepOf(until) - firstStep + 1);
    const met = new Float32Array(FUTURE_COUNT * steps);
    begin(firstStep);
    for (const each of states) Object.assign(each, state);
    for (let step = 0; step < steps; step++) {
      if (step > 0) live(states, firstStep + step);
      for (let life = 0; life < FUTURE_COUNT; life++) met[step * FUTURE_COUNT + life] = meets(states[life]!);
    }
    return { version, builtAt: now, firstStep, steps, met };
  }

  function futuresOf(present: PresentState<State>): Futures {
    const known = kept.get(present.billId);
    if (known && known.version === present.version && present.now - known.builtAt < DAY_MS / 2) return known;
    const built = build(present);
    kept.delete(present.billId);
    kept.set(present.billId, built);
    if (kept.size > MAX_CACHED_INVOICES) kept.delete(kept.keys().next().value!);
    return built;
  }

  return {
    forget: () => kept.clear(),
    /** Simulates the futures. Ask for their times before the next call. */
    look(present: PresentState<State>) {
      const { firstStep, steps, met } = futuresOf(present);
      const rowAt = (at: number) => Math.min(steps - 1, Math.max(0, stepOf(at) - firstStep)) * FUTURE_COUNT;
      weights.fill(1);
      return {
        /** Lowers the weight of lives in which this attempt would have succeeded. `works` turns an outcome into a chance. */
        inVain(at: number, works: (met: number) => number) {
          const row = rowAt(at);
          for (let life = 0; life < FUTURE_COUNT; life++) weights[life]! *= 1 - works(met[row + life]!);
        },
        chance(at: number, works: (met: number) => number): number {
          const row = rowAt(at);
          let sum = 0;
          let total = 0;
          for (let life = 0; life < FUTURE_COUNT; life++) {
            total += weights[life]!;
            sum += weights[life]! * works(met[row + life]!);
          }
          return sum / total;
        },
      };
    },
  };
}
