// `npm run lab -- foresight`: how well the engine predicts six evenly spaced retries, which do not depend on the model: small
// differences show within minutes.

import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { openWorld, readPretrainedModel } from "../trial/open-world.ts";
import { measurePredictionLoss } from "../trial/prediction-loss.ts";
import { parseTrialOptions } from "./trial-options.ts";

const { customers, seeds, worlds } = parseTrialOptions({ customers: 6000, seeds: [1, 2] });
const prior = readPretrainedModel();
const starts = { cold: newLearnedModel, warm: () => fromPretrained(prior) };

const cell = (nats: number) => (nats * 1000).toFixed(1).padStart(7);
console.log("thousandths of a nat per attempt; the first quarter of the attempts in brackets; lower is better");
console.log("world           seed   tries  mean          cold              warm              world itself");
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
