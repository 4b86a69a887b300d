// `npm run lab -- foresight`: how well the engine foresees the outcomes of six even tries, which are the same whatever was learned: a
// thousandth of a nat shows here after minutes, where the value of what is chosen differs by luck.

import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { openWorld, readPretrainedModel } from "../trial/open-world.ts";
import { measurePredictionLoss } from "../trial/prediction-loss.ts";
import { parseTrialOptions } from "./trial-options.ts";

const { customers, seeds, worlds } = parseTrialOptions({ customers: 6000, seeds: [1, 2] });
const prior = readPretrainedModel();
const starts = { cold: newLearnedModel, warm: () => fromPretrained(prior) };

const cell = (nats: number) => (nats * 1000).toFixed(1).padStart(7);
console.log("thousandths of a nat a try; the first quarter of the tries in brackets; less is better");
console.log("world           seed   tries  by the mean   cold              warm              by the world itself");
for (const name of worlds) {
  for (const seed of seeds) {
    const rows = [];
    for (const start of Object.values(starts))
      rows.push(measurePredictionLoss(await openWorld(name), start(), seed, customers));
    const [cold, warm] = rows.map(({ engine, early }) => `${cell(engine)} (${cell(early)})`);
    const { tries, share, world } = rows[0]!;
    console.log(
      `${name.padEnd(15)} ${String(seed).padStart(4)} ${String(tries).padStart(7)} ${cell(share)}      ${cold} ${warm} ${cell(world)}`,
    );
  }
}
