// `npm run bench:promises`: whether plans, and six even tries, recover what `explain` says of them.
import { promisesOf } from "../simulator/trial/promises.ts";
import { openWorld, shippedPrior } from "../simulator/trial/worlds.ts";
import { fromPrior } from "../src/model/prior.ts";
import { trialOptions } from "./trial-options.ts";

const { customers, seeds, worlds } = trialOptions({ customers: 6000, seeds: [1, 2] });
const prior = shippedPrior();
const cell = (share: number) => `${(100 * share).toFixed(1).padStart(5)}%`;
console.log(
  "of the cases of which a try was planned at the first failure, warm: recovered as promised then, and in the end",
);
console.log("world           seed  cases  plan promised reached   even tries promised reached");
for (const name of worlds) {
  for (const seed of seeds) {
    const { cases, plan, even } = promisesOf(await openWorld(name), fromPrior(prior), seed, customers);
    console.log(
      `${name.padEnd(15)} ${String(seed).padStart(4)} ${String(cases).padStart(6)}  ${cell(plan.promised)} ${cell(plan.reached)}   ${cell(even.promised)} ${cell(even.reached)}`,
    );
  }
}
