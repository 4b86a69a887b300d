// `npm run bench -- blocks`: how soon Dunlin is ahead of six evenly spaced retries, cold and warm, in blocks of 500 cases, and
// again after a world changes.

import { parseTrialOptions } from "../lab/studies/trial-options.ts";
import { countBrokenRules } from "../lab/trial/broken-rules.ts";
import { createDunlinPolicy } from "../lab/trial/dunlin-policy.ts";
import { openWorld, readPretrainedModel } from "../lab/trial/open-world.ts";
import type { Policy } from "../lab/trial/policy.ts";
import { runTrial } from "../lab/trial/run-trial.ts";
import { even } from "../lab/trial/scheduled-policies.ts";
import { valueByBlock } from "../lab/trial/trial-figures.ts";
import { LAW_CHANGE_TIME } from "../lab/worlds/simple-law-world.ts";
import { newLearnedModel } from "../src/engine/learned/learned-model.ts";
import { fromPretrained } from "../src/engine/learned/pretrained-model.ts";

/**
 * Their law changes once; the pretrained model misjudges the last. After so many cases Dunlin must regain this share of its best
 * earlier lead, or of its lead without pretraining.
 */
const CHANGING_WORLDS = ["crude:moved", "crude:turned"];
const MISJUDGED_WORLD = "crude:decay";
const RECOVERY_CASES = 2000;
const RECOVERY_SHARE = 0.8;
// In one seed's block, luck exceeds a point.
const first = parseTrialOptions({ customers: 1400, seeds: Array.from({ length: 20 }, (_, n) => n + 1) });
// Fewer customers make no block that long after a change.
const later = parseTrialOptions({
  customers: 4000,
  seeds: [1, 2, 3, 4, 5, 6],
  more: [...CHANGING_WORLDS, MISJUDGED_WORLD],
});
const BLOCK_SIZE = 500;
/** Of cold Dunlin, in any block. */
const MAX_DEFICIT = 0.01;
const AHEAD_FROM_BLOCK = { cold: 2, warm: 0 };

const prior = readPretrainedModel();
const policies: Record<keyof typeof AHEAD_FROM_BLOCK, () => Policy> = {
  cold: () => createDunlinPolicy(newLearnedModel()),
  warm: () => createDunlinPolicy(fromPretrained(prior)),
};

const mean = (rows: readonly (readonly number[])[]) =>
  Array.from(
    { length: Math.min(...rows.map((row) => row.length)) },
    (_, block) => rows.reduce((sum, row) => sum + row[block]!, 0) / rows.length,
  );

console.log(`points of value ahead of six evenly spaced retries in each ${BLOCK_SIZE} cases, mean of the seeds`);
let missed = 0;
let brokenCount = 0;
for (const name of later.worlds) {
  const { customers, seeds } = CHANGING_WORLDS.includes(name) || name === MISJUDGED_WORLD ? later : first;
  let changed = 0;
  const blocksOf = async (policy: () => Policy) => {
    const rows: number[][] = [];
    for (const seed of seeds) {
      const trial = runTrial(await openWorld(name), policy(), seed, customers);
      rows.push(valueByBlock(trial, BLOCK_SIZE));
      brokenCount += countBrokenRules(trial.retries);
      const before = trial.cases.filter(({ bill }) => +bill.createdAt < LAW_CHANGE_TIME).length;
      changed = Math.max(changed, Math.ceil(before / BLOCK_SIZE));
    }
    return mean(rows);
  };
  const spread = await blocksOf(even);
  if (spread.length === 0) throw new Error(`${name}: too few customers for ${BLOCK_SIZE} cases`);
  const leads: Record<string, number[]> = {};
  for (const [start, policy] of Object.entries(policies)) {
    const ahead = (await blocksOf(policy)).slice(0, spread.length).map((value, block) => value - spread[block]!);
    leads[start] = ahead;
    const { says, holds } = verdict(name, start as keyof typeof AHEAD_FROM_BLOCK, ahead, leads.cold!, changed);
    if (!holds) missed++;
    const cells = ahead.map((each) => (each * 100).toFixed(1).padStart(6)).join("");
    console.log(`${name.padEnd(12)} ${start}  ${cells}${says}${holds ? "" : "  MISSED"}`);
  }
}
if (brokenCount > 0) missed++;
console.log(
  `${brokenCount} tries broke a rule${brokenCount > 0 ? "  MISSED" : ""}. ${missed === 0 ? "All hold." : `${missed} aims are missed.`}`,
);

/** @param changed  the first block after the law changed */
function verdict(name: string, start: keyof typeof AHEAD_FROM_BLOCK, ahead: number[], cold: number[], changed: number) {
  const isChanging = CHANGING_WORLDS.includes(name);
  if (!isChanging && !(name === MISJUDGED_WORLD && start === "warm")) {
    const isAhead = (each: number, block: number) => each >= (block < AHEAD_FROM_BLOCK[start] ? -MAX_DEFICIT : 0);
    return { says: "", holds: ahead.every(isAhead) };
  }
  const block = (isChanging ? changed : 0) + RECOVERY_CASES / BLOCK_SIZE;
  const [lead, wanted] = [ahead[block], isChanging ? Math.max(...ahead.slice(0, changed - 1)) : cold[block]];
  if (lead === undefined || wanted === undefined)
    return { says: "  too few customers to see the recovery", holds: false };
  const of = isChanging ? "the best lead before the change" : "the lead without pretraining";
  const says = `  after ${RECOVERY_CASES} cases ${((100 * lead) / wanted).toFixed(0)} % of ${of}`;
  return { says, holds: lead >= RECOVERY_SHARE * wanted };
}
