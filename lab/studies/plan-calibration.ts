// `npm run lab -- promises`: whether retries recover the share that `explain` predicts.

import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { openWorld, readPretrainedModel } from "../trial/open-world.ts";
import { compareRecoveryEstimates } from "../trial/recovery-estimates.ts";
import { parseTrialOptions } from "./trial-options.ts";

const { customers, seeds, worlds } = parseTrialOptions({ customers: 6000, seeds: [1, 2] });
const prior = readPretrainedModel();
const cell = (share: number) => `${(100 * share).toFixed(1).padStart(5)}%`;
console.log("cases with a retry planned at the first failure, warm: recovery predicted then, and actual recovery");
console.log("world           seed  cases  plan predicted actual   even predicted actual");
for (const name of worlds) {
  for (const seed of seeds) {
    const { cases, plan, even } = compareRecoveryEstimates(
      await openWorld(name),
      fromPretrained(prior),
      seed,
      customers,
    );
    console.log(
      `${name.padEnd(15)} ${String(seed).padStart(4)} ${String(cases).padStart(6)}  ${cell(plan.promised)} ${cell(plan.reached)}   ${cell(even.promised)} ${cell(even.reached)}`,
    );
  }
}
