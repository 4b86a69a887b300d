import type { Learned } from "../../src/model/learned.ts";
import type { World } from "../worlds/world.ts";
import { dunlin } from "./dunlin.ts";
import { runTrial, type Trial } from "./run-trial.ts";
import { even } from "./schedules.ts";

/** Shares of the same cases: how many were to be recovered by what `explain` says at the first failure, and how many were. */
interface Promised {
  promised: number;
  reached: number;
}

/** What becomes of what is said of plans and of even tries. */
export interface Promises {
  /** Those in which a try was worth planning at first. */
  cases: number;
  /** Dunlin's plans, which are made anew after each failure. */
  plan: Promised;
  /** Six even tries, as far as the rules allow them, in a world of their own with the same luck. */
  even: Promised;
}

/** Let the engine decide, and hold what it said at each first failure beside what it reached, and beside what even tries reach. */
export function promisesOf(world: World, learned: Learned, seed: number, customers: number): Promises {
  const said = new Map<string, { plan: number; even: number }>();
  const engine = dunlin(learned, {
    promised({ id }, { planRecovers, recovers }) {
      said.set(id, { plan: planRecovers, even: recovers });
    },
  });
  const ours = recoveredOf(runTrial(world, engine, seed, customers));
  const theirs = recoveredOf(runTrial(world, even(), seed, customers));
  const both = [...said].filter(([id]) => ours.has(id) && theirs.has(id));
  const mean = (of: (each: (typeof both)[number]) => number) =>
    both.reduce((sum, each) => sum + of(each), 0) / both.length;
  return {
    cases: both.length,
    plan: { promised: mean(([, { plan }]) => plan), reached: mean(([id]) => Number(ours.get(id))) },
    even: { promised: mean(([, said]) => said.even), reached: mean(([id]) => Number(theirs.get(id))) },
  };
}

const recoveredOf = ({ cases }: Trial) =>
  new Map(cases.map(({ bill, charges }) => [bill.id, charges.at(-1)!.approved]));
