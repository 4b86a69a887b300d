import type { LearnedModel } from "../../src/engine/learned/learned-model.ts";
import type { World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";

/** How well a year of six even tries was foreseen: mean of minus the logarithm of the chance that was given to what came, in nats. */
export interface PredictionLoss {
  tries: number;
  /** By the engine, which learns from each try after it was judged by it; over all tries, and over the first quarter of them. */
  engine: number;
  early: number;
  /** By the share of all tries that are approved, in hindsight. */
  share: number;
  /** By the world itself, which knows what is hidden, as it is when the try is planned. */
  world: number;
}

/** No chance counts as less likely than this, nor as surer than what is left. */
const MIN_CHANCE = 1e-4;

/**
 * Let the engine look on while another policy tries. Its tries do not depend on what was learned, so two engines are judged by the same
 * ones, and a difference shows that would be lost in the luck of what each had chosen.
 */
export function measurePredictionLoss(
  world: World,
  learned: LearnedModel,
  seed: number,
  customers: number,
): PredictionLoss {
  const byEngine: number[] = [];
  const byWorld: number[] = [];
  let approvals = 0;
  const engine = createDunlinPolicy(learned, {
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
        // What it would do is not used: asked, it begins to believe something of the case.
        engine.next(open, now);
        const choice = policy.next(open, now);
        // Asked now, as the oracle asks: right before the try the world has made the next bill already, and is past it.
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
  const tries = byEngine.length;
  const share = approvals / tries;
  return {
    tries,
    engine: mean(byEngine),
    early: mean(byEngine.slice(0, Math.ceil(tries / 4))),
    share: share * logLoss(share, true) + (1 - share) * logLoss(share, false),
    world: mean(byWorld),
  };
}

const logLoss = (chance: number, approved: boolean) =>
  -Math.log(Math.min(1 - MIN_CHANCE, Math.max(MIN_CHANCE, approved ? chance : 1 - chance)));

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
