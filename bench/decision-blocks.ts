// `npm run bench:blocks`: how soon Dunlin is ahead of six even tries, cold and warm, in blocks of 500 cases, and how soon again when a world changes.
import { dunlin } from "../simulator/trial/dunlin.ts";
import { valueByBlock } from "../simulator/trial/figures.ts";
import type { Policy } from "../simulator/trial/policy.ts";
import { runTrial } from "../simulator/trial/run-trial.ts";
import { even } from "../simulator/trial/schedules.ts";
import { openWorld, shippedPrior } from "../simulator/trial/worlds.ts";
import { newLearned } from "../src/model/learned.ts";
import { fromPrior } from "../src/model/prior.ts";
import { trialOptions } from "./trial-options.ts";

const { customers, seeds, worlds } = trialOptions({
  customers: 2000,
  seeds: [1, 2, 3, 4, 5],
  more: ["crude:moved", "crude:decay"],
});
const SIZE = 500;
/** In no block may Dunlin be further behind, cold. */
const BEHIND_MAX = 0.01;
/** From this block on it is to be ahead: after 1,000 cases cold, from the first on warm. */
const AHEAD_FROM = { cold: 2, warm: 0 };

const prior = shippedPrior();
const policies: Record<keyof typeof AHEAD_FROM, () => Policy> = {
  cold: () => dunlin(newLearned()),
  warm: () => dunlin(fromPrior(prior)),
};

/** Means over the seeds, block by block, as far as every seed has one. */
const mean = (rows: readonly (readonly number[])[]) =>
  Array.from(
    { length: Math.min(...rows.map((row) => row.length)) },
    (_, block) => rows.reduce((sum, row) => sum + row[block]!, 0) / rows.length,
  );

console.log(`points of value ahead of six even tries in each ${SIZE} cases, mean of seeds ${seeds.join(",")}`);
let missed = 0;
for (const name of worlds) {
  const blocksOf = async (policy: () => Policy) => {
    const rows: number[][] = [];
    for (const seed of seeds) rows.push(valueByBlock(runTrial(await openWorld(name), policy(), seed, customers), SIZE));
    return mean(rows);
  };
  const spread = await blocksOf(even);
  if (spread.length === 0) throw new Error(`${name}: too few customers for ${SIZE} cases`);
  for (const [start, policy] of Object.entries(policies)) {
    const ahead = (await blocksOf(policy)).slice(0, spread.length).map((value, block) => value - spread[block]!);
    const holds = ahead.every(
      (each, block) => each >= (block < AHEAD_FROM[start as keyof typeof AHEAD_FROM] ? -BEHIND_MAX : 0),
    );
    if (!holds) missed++;
    const cells = ahead.map((each) => (each * 100).toFixed(1).padStart(6)).join("");
    console.log(`${name.padEnd(12)} ${start}  ${cells}${holds ? "" : "  MISSED"}`);
  }
}
console.log(missed === 0 ? "All hold." : `${missed} rows miss an aim.`);
