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

/** At each first failure, against the actual recovery. */
export function compareRecoveryEstimates(
  world: World,
  model: LearnedModel,
  seed: number,
  customers: number,
): RecoveryEstimates {
  const estimates = new Map<string, { plan: number; even: number }>();
  const engine = createDunlinPolicy(model, {
    promised({ id }, { planRecovers, recovers }) {
      estimates.set(id, { plan: planRecovers, even: recovers });
    },
  });
  const byEngine = recoveredByInvoice(runTrial(world, engine, seed, customers));
  const byEven = recoveredByInvoice(runTrial(world, even(), seed, customers));
  const both = [...estimates].filter(([id]) => byEngine.has(id) && byEven.has(id));
  const mean = (select: (each: (typeof both)[number]) => number) =>
    both.reduce((sum, each) => sum + select(each), 0) / both.length;
  return {
    cases: both.length,
    plan: { promised: mean(([, { plan }]) => plan), reached: mean(([id]) => Number(byEngine.get(id))) },
    even: { promised: mean(([, estimate]) => estimate.even), reached: mean(([id]) => Number(byEven.get(id))) },
  };
}

const recoveredByInvoice = ({ cases }: Trial) =>
  new Map(cases.map(({ bill, charges }) => [bill.id, charges.at(-1)!.approved]));
