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
  outcomes: Float32Array;
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
  outcomeOf(state: State): number;
}

/**
 * Lives from the true present state, with their own luck. Cached by invoice, because many times are asked about.
 *
 * @param createState  makes a state, which is overwritten
 */
export function createFutureOracle<State extends object>(createState: () => State) {
  const states = Array.from({ length: FUTURE_COUNT }, createState);
  const weights = new Float64Array(FUTURE_COUNT);
  const futuresByInvoice = new Map<string, Futures>();

  function build({ version, now, until, state, begin, live, outcomeOf }: PresentState<State>): Futures {
    const firstStep = stepOf(now);
    const steps = Math.max(1, stepOf(until) - firstStep + 1);
    const outcomes = new Float32Array(FUTURE_COUNT * steps);
    begin(firstStep);
    for (const each of states) Object.assign(each, state);
    for (let step = 0; step < steps; step++) {
      if (step > 0) live(states, firstStep + step);
      for (let life = 0; life < FUTURE_COUNT; life++) outcomes[step * FUTURE_COUNT + life] = outcomeOf(states[life]!);
    }
    return { version, builtAt: now, firstStep, steps, outcomes };
  }

  function futuresOf(present: PresentState<State>): Futures {
    const cached = futuresByInvoice.get(present.billId);
    if (cached && cached.version === present.version && present.now - cached.builtAt < DAY_MS / 2) return cached;
    const built = build(present);
    futuresByInvoice.delete(present.billId);
    futuresByInvoice.set(present.billId, built);
    if (futuresByInvoice.size > MAX_CACHED_INVOICES) futuresByInvoice.delete(futuresByInvoice.keys().next().value!);
    return built;
  }

  return {
    forget: () => futuresByInvoice.clear(),
    /** Ask for their times before the next call. */
    openFutures(present: PresentState<State>) {
      const { firstStep, steps, outcomes } = futuresOf(present);
      const rowAt = (at: number) => Math.min(steps - 1, Math.max(0, stepOf(at) - firstStep)) * FUTURE_COUNT;
      weights.fill(1);
      return {
        /** Lives in which this attempt would have succeeded. `chanceOf` turns an outcome into a chance. */
        weighFailure(at: number, chanceOf: (outcome: number) => number) {
          const row = rowAt(at);
          for (let life = 0; life < FUTURE_COUNT; life++) weights[life]! *= 1 - chanceOf(outcomes[row + life]!);
        },
        chance(at: number, chanceOf: (outcome: number) => number): number {
          const row = rowAt(at);
          let sum = 0;
          let total = 0;
          for (let life = 0; life < FUTURE_COUNT; life++) {
            total += weights[life]!;
            sum += weights[life]! * chanceOf(outcomes[row + life]!);
          }
          return sum / total;
        },
      };
    },
  };
}
