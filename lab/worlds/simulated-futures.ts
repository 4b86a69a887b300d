import { DAY_MS } from "./keyed-uniform.ts";
import { stepOf } from "./simulation-steps.ts";

/** How many lives are lived ahead: the standard error of a chance is 8 points at most then, and plans stay cheap. */
const FUTURE_COUNT = 40;
/** Plans of so many bills are remembered. */
const MAX_CACHED_INVOICES = 200;

/** What a charge would meet in each life, at each step from the present on. */
interface Futures {
  version: number;
  builtAt: number;
  firstStep: number;
  steps: number;
  /** `met[step * LIVES + life]`. */
  met: Float32Array;
}

/** What the futures of a bill begin with and how they go. */
export interface PresentState<State> {
  billId: string;
  /** Changes whenever a charge changes the customer's state. */
  version: number;
  now: number;
  /** ms; moments after it are taken for it. */
  until: number;
  state: State;
  /** Before the first of the draws. */
  begin(firstStep: number): void;
  /** Lives on through the step, in all states given. */
  live(states: readonly State[], step: number): void;
  /** What a charge meets: whatever number the world's `works` understands. */
  meets(state: State): number;
}

/**
 * The oracle's foresight: lives that begin in the true present state and go on with luck of their own, so that it
 * knows all that moves but not what is to come. They are kept by bill for the many moments that are asked about.
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
    /** Looks ahead from a present; ask for its moments before the next look. */
    look(present: PresentState<State>) {
      const { firstStep, steps, met } = futuresOf(present);
      const rowAt = (at: number) => Math.min(steps - 1, Math.max(0, stepOf(at) - firstStep)) * FUTURE_COUNT;
      weights.fill(1);
      return {
        /** A try in vain at `at` makes lives less likely in which it would have worked. `works` turns what it meets into a chance. */
        inVain(at: number, works: (met: number) => number) {
          const row = rowAt(at);
          for (let life = 0; life < FUTURE_COUNT; life++) weights[life]! *= 1 - works(met[row + life]!);
        },
        /** The chance at `at`, after what was tried in vain. */
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
