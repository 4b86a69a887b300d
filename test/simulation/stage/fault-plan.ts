import type { VirtualTime } from "./virtual-time.ts";

/** The process is gone: nothing it does from now on has an effect. */
export class ProcessDeath extends Error {}

/** One run of the process, from a start to a crash. */
export interface ProcessLife {
  number: number;
  dead: boolean;
  died: Promise<void>;
  die(): void;
  /** Closes the connections that die with it. */
  onDeath: (() => Promise<void>)[];
}

export function createProcessLife(number: number): ProcessLife {
  const { promise, resolve } = Promise.withResolvers<void>();
  const life: ProcessLife = {
    number,
    dead: false,
    died: promise,
    onDeath: [],
    die() {
      life.dead = true;
      resolve();
    },
  };
  return life;
}

export type Fault = "none" | "crash" | "outage" | "conflict";

/** Faults, sampled for every statement: before it runs, or after it has run but before the reply. */
export interface FaultPlan {
  before(statement: string): Fault;
  after(statement: string): Fault;
  stop(): void;
  counts: { crashes: number; outages: number; conflicts: number };
}

/** Statements at which a fault is most likely to do harm, and how much more often they get one. */
const FAULT_WEIGHTS: Record<string, number> = {
  commit: 4,
  record_attempts: 30,
  insert_events: 6,
  withdraw_events: 6,
  save_case_states: 2,
  record_ends: 30,
  take_pokes: 10,
};
/** Share of statements that fail, each way. */
const CRASH_RATE = 0.00012;
const OUTAGE_RATE = 0.00006;
const CONFLICT_RATE = 0.0001;
/** A process that keeps crashing in its first seconds makes no progress and tests nothing. */
const FAULT_FREE_START_MS = 2 * 3_600_000;

export function createFaultPlan(draw: () => number, time: VirtualTime): FaultPlan {
  const counts = { crashes: 0, outages: 0, conflicts: 0 };
  let stopped = false;
  let calmUntilMs = time.nowMs() + FAULT_FREE_START_MS;

  function next(statement: string, mayConflict: boolean): Fault {
    const drawn = draw() / (FAULT_WEIGHTS[statement] ?? 1);
    if (stopped || time.nowMs() < calmUntilMs) return "none";
    if (drawn >= CRASH_RATE + OUTAGE_RATE + CONFLICT_RATE) return "none";
    if (drawn < CRASH_RATE) {
      counts.crashes++;
      calmUntilMs = time.nowMs() + draw() * FAULT_FREE_START_MS;
      return "crash";
    }
    calmUntilMs = time.nowMs() + draw() * FAULT_FREE_START_MS;
    if (drawn < CRASH_RATE + OUTAGE_RATE) {
      counts.outages++;
      return "outage";
    }
    if (!mayConflict) return "none";
    counts.conflicts++;
    return "conflict";
  }

  return {
    before: (statement) => next(statement, true),
    after: (statement) => next(statement, false),
    stop() {
      stopped = true;
    },
    counts,
  };
}
