// `npm run bench:foresight`: how well the engine foresees the outcomes of six even tries, which are the same whatever was learned: a
// thousandth of a nat shows here after minutes, where the value of what is chosen differs by luck.
import { foresightOf } from "../simulator/trial/foresight.ts";
import { openWorld, shippedPrior } from "../simulator/trial/worlds.ts";
import { newLearned } from "../src/model/learned.ts";
import { fromPrior } from "../src/model/prior.ts";
import { trialOptions } from "./trial-options.ts";

const { customers, seeds, worlds } = trialOptions({ customers: 6000, seeds: [1, 2] });
const prior = shippedPrior();
const starts = { cold: newLearned, warm: () => fromPrior(prior) };

const cell = (nats: number) => (nats * 1000).toFixed(1).padStart(7);
console.log("thousandths of a nat a try; the first quarter of the tries in brackets; less is better");
console.log("world           seed   tries  by the mean   cold              warm              by the world itself");
for (const name of worlds) {
  for (const seed of seeds) {
    const rows = [];
    for (const start of Object.values(starts)) rows.push(foresightOf(await openWorld(name), start(), seed, customers));
    const [cold, warm] = rows.map(({ engine, early }) => `${cell(engine)} (${cell(early)})`);
    const { tries, share, world } = rows[0]!;
    console.log(
      `${name.padEnd(15)} ${String(seed).padStart(4)} ${String(tries).padStart(7)} ${cell(share)}      ${cold} ${warm} ${cell(world)}`,
    );
  }
}
