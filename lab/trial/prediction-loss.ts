import type { LearnedModel } from "../../src/engine/learned/learned-model.ts";
import type { World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";

/** Mean negative log probability (nats) of six evenly spaced retries. */
export interface PredictionLoss {
  tries: number;
  /** Learns from each attempt after predicting it. `early`: first quarter. */
  engine: number;
  early: number;
  share: number;
  world: number;
}

/** Distance of clamped probabilities from 0 and 1. */
const MIN_CHANCE = 1e-4;

/** Another policy retries, so two engines are judged by the same attempts. */
export function measurePredictionLoss(
  world: World,
  model: LearnedModel,
  seed: number,
  customers: number,
): PredictionLoss {
  const byEngine: number[] = [];
  const byWorld: number[] = [];
  let approvals = 0;
  const engine = createDunlinPolicy(model, {
    foresaw(chance, approved) {
      byEngine.push(logLoss(chance, approved));
      approvals += Number(approved);
    },
  });
  const policy = even();
  runTrial(
    world,
    {
      billed: (bill) => engine.billed?.(bill),
      next(open, now) {
        // The choice is unused; the call creates the engine's posterior.
        engine.next(open, now);
        const choice = policy.next(open, now);
        // Asked now: later the world has advanced to the next invoice.
        return choice && { ...choice, chance: world.approval(open.bill, new Date(choice.at)) };
      },
      answered(open, choice, charge) {
        byWorld.push(logLoss(choice.chance!, charge.approved));
        engine.answered?.(open, choice, charge);
      },
    },
    seed,
    customers,
  );
  const retryCount = byEngine.length;
  const share = approvals / retryCount;
  return {
    tries: retryCount,
    engine: mean(byEngine),
    early: mean(byEngine.slice(0, Math.ceil(retryCount / 4))),
    share: share * logLoss(share, true) + (1 - share) * logLoss(share, false),
    world: mean(byWorld),
  };
}

const logLoss = (chance: number, approved: boolean) =>
  -Math.log(Math.min(1 - MIN_CHANCE, Math.max(MIN_CHANCE, approved ? chance : 1 - chance)));

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
