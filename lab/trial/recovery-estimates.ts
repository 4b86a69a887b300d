import type { LearnedModel } from "../../src/engine/learned/learned-model.ts";
import type { World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { runTrial, type Trial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";

interface EstimatedRecovery {
  promised: number;
  reached: number;
}

export interface RecoveryEstimates {
  cases: number;
  plan: EstimatedRecovery;
  /** In a second world with the same luck, as far as the rules allow. */
  even: EstimatedRecovery;
}

/** Compares the engine's estimates at each first failure with the actual recovery. */
export function compareRecoveryEstimates(
  world: World,
  learned: LearnedModel,
  seed: number,
  customers: number,
): RecoveryEstimates {
  const said = new Map<string, { plan: number; even: number }>();
  const engine = createDunlinPolicy(learned, {
    promised({ id }, { planRecovers, recovers }) {
      said.set(id, { plan: planRecovers, even: recovers });
    },
  });
  const ours = recoveredByInvoice(runTrial(world, engine, seed, customers));
  const theirs = recoveredByInvoice(runTrial(world, even(), seed, customers));
  const both = [...said].filter(([id]) => ours.has(id) && theirs.has(id));
  const mean = (of: (each: (typeof both)[number]) => number) =>
    both.reduce((sum, each) => sum + of(each), 0) / both.length;
  return {
    cases: both.length,
    plan: { promised: mean(([, { plan }]) => plan), reached: mean(([id]) => Number(ours.get(id))) },
    even: { promised: mean(([, said]) => said.even), reached: mean(([id]) => Number(theirs.get(id))) },
  };
}

const recoveredByInvoice = ({ cases }: Trial) =>
  new Map(cases.map(({ bill, charges }) => [bill.id, charges.at(-1)!.approved]));
