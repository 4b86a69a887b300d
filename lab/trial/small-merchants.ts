import { type LearnedModel, newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { fromPretrained, type PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import { world as varied } from "../worlds/varied-world.ts";
import type { Bill, World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { openWorld } from "./open-world.ts";
import { oracle } from "./oracle.ts";
import type { Policy } from "./policy.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";
import { computeFigures } from "./trial-figures.ts";

/** One merchant with an installation of its own, and a year of invoices. */
export interface MerchantRun {
  /** "varied": each merchant has a mechanism of its own. */
  world: string;
  windowDays: number;
  /** Of the world. */
  seed: number;
  customers: number;
  policy: CarryOverPolicy;
  /** Changes what exploration samples, and nothing else. */
  exploration: string;
  prior: PretrainedModel;
}

export interface MerchantFigures {
  value: number;
  cases: number;
  ece: number | null;
  brokenRules: number;
}

interface PolicyOptions {
  world: World;
  prior: PretrainedModel;
  exploration: string;
}

const withPrior = ({ prior }: PolicyOptions): LearnedModel => fromPretrained(prior);
const POLICIES = {
  even,
  cold: ({ exploration }) => createDunlinPolicy(newLearnedModel(), { exploration }),
  warm: (options) => createDunlinPolicy(withPrior(options), options),
  oracle: ({ world }) => oracle(world),
} satisfies Record<string, (options: PolicyOptions) => Policy>;
export type CarryOverPolicy = keyof typeof POLICIES;
/** Those that do not explore are the same in each run. */
export const EXPLORING_POLICIES: ReadonlySet<CarryOverPolicy> = new Set(["cold", "warm"]);
export const CARRY_OVER_POLICIES = Object.keys(POLICIES) as CarryOverPolicy[];

export const VARIED = "varied";
const FIRST_VARIATION = 100;

export async function runSmallMerchant(run: MerchantRun): Promise<MerchantFigures> {
  const { windowDays, seed, customers, prior, exploration } = run;
  const drawn = run.world === VARIED ? varied({ variation: FIRST_VARIATION + seed }) : await openWorld(run.world);
  const world = asOneMerchant(drawn, windowDays);
  const trial = runTrial(world, POLICIES[run.policy]({ world, prior, exploration }), seed, customers);
  const { value, ece, brokenRules } = computeFigures(trial);
  return { value, cases: trial.cases.length, ece, brokenRules };
}

/** The world with one merchant and one recovery window. */
const asOneMerchant = (world: World, windowDays: number): World => ({
  ...world,
  *bills(seed, customers) {
    // Changed in place, because a world may recognize its invoices by identity.
    for (const bill of world.bills(seed, customers))
      yield Object.assign(bill satisfies Bill, { merchantKey: "one", windowDays });
  },
});
