// `npm run bench:promises`: whether plans, and six even tries, recover what `explain` says of them.
import { parseArgs } from "node:util";
import { promisesOf } from "../simulator/trial/promises.ts";
import { openWorld, shippedPrior, WORLDS } from "../simulator/trial/worlds.ts";
import { fromPrior } from "../src/model/prior.ts";

const { values } = parseArgs({
  options: {
    customers: { type: "string", default: "6000" },
    seeds: { type: "string", default: "1,2" },
    worlds: { type: "string", default: Object.keys(WORLDS).join(",") },
  },
});
const prior = shippedPrior();
const cell = (share: number) => `${(100 * share).toFixed(1).padStart(5)}%`;
console.log(
  "of the cases of which a try was planned at the first failure, warm: recovered as promised then, and in the end",
);
console.log("world           seed  cases  plan promised reached   even tries promised reached");
for (const name of values.worlds.split(",")) {
  for (const seed of values.seeds.split(",").map(Number)) {
    const { cases, plan, even } = promisesOf(await openWorld(name), fromPrior(prior), seed, Number(values.customers));
    console.log(
      `${name.padEnd(15)} ${String(seed).padStart(4)} ${String(cases).padStart(6)}  ${cell(plan.promised)} ${cell(plan.reached)}   ${cell(even.promised)} ${cell(even.reached)}`,
    );
  }
}
