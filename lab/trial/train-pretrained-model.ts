import { type LearnedModel, newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { featureIndex } from "../../src/engine/learned/model-layout.ts";
import type { PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import { world as balances } from "../worlds/balance-world.ts";
import { world as business } from "../worlds/business/world.ts";
import { world as consumers } from "../worlds/consumers/world.ts";
import { world as debits } from "../worlds/debit-world.ts";
import { world as issuers } from "../worlds/issuer-risk-world.ts";
import { createSilentWorld } from "../worlds/silent-world.ts";
import type { World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { isPortableFeature, poolPretrainedModel } from "./pool-pretrained-model.ts";
import { runTrial } from "./run-trial.ts";

/** The mechanism that a world is about. */
export type Family = "balances" | "issuers" | "debits" | "business" | "consumers";

interface TrainingWorld {
  family: Family;
  world: World;
}

/** Parameters and seeds (from 1001) differ from the test worlds'. */
export const TRAINING_WORLDS: readonly TrainingWorld[] = [
  { family: "balances", world: balances({ poor: 0.14, gone: 0.15, masked: 0.1, holds: 1.3 }) },
  { family: "balances", world: balances({ poor: 0.22, gone: 0.45, masked: 0.3, holds: 0.7 }) },
  { family: "issuers", world: issuers({ suspicion: 0.9, memory: 1.3 }) },
  { family: "debits", world: debits({ poor: 0.16, closing: 0.1 }) },
  { family: "balances", world: balances({ poor: 0.12, gone: 0.7, masked: 0.22, holds: 1.6 }) },
  { family: "issuers", world: issuers({ suspicion: 1.1, memory: 0.6 }) },
  { family: "debits", world: debits({ poor: 0.25, closing: 0.03, cutoff: 17, businessDays: 1 }) },
  { family: "balances", world: balances({ poor: 0.25, gone: 0.05, masked: 0.4, holds: 0.85 }) },
  { family: "business", world: business({ edge: 0.09, gone: 0.3 }) },
  { family: "consumers", world: consumers({ tight: 0.85, left: 1.6 }) },
  { family: "business", world: business({ edge: 0.14, gone: 0.1 }) },
  { family: "consumers", world: consumers({ tight: 1.2, left: 0.5 }) },
  // Merchants that push only invoices.
  { family: "balances", world: createSilentWorld(balances({ poor: 0.18, gone: 0.25, masked: 0.2, holds: 1.1 })) },
  { family: "consumers", world: createSilentWorld(consumers({ tight: 0.9, left: 0.8 })) },
];

export interface TrainedWorlds {
  /** A pretrained model from all worlds, or from those of other families than `leftOut`. */
  pool(leftOut?: Family): PretrainedModel;
}

/** Trains a model in each world, from a new one. */
export function trainInWorlds(customers: number, report: (line: string) => void): TrainedWorlds {
  const portable = new Set<number>();
  const noteFeature = (name: string) => {
    if (isPortableFeature(name)) portable.add(featureIndex(name));
  };
  const trained = TRAINING_WORLDS.map(({ family, world }, n): { family: Family; model: LearnedModel } => {
    const model = newLearnedModel();
    const { cases, retries } = runTrial(world, createDunlinPolicy(model, { named: noteFeature }), 1001 + n, customers);
    report(`${world.name}: ${cases.length} cases, ${retries.length} tries`);
    return { family, model };
  });
  return {
    pool: (leftOut) =>
      poolPretrainedModel(
        trained.filter(({ family }) => family !== leftOut).map(({ model }) => model),
        portable,
      ),
  };
}
