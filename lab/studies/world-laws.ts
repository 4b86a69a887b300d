// `npm run lab -- laws`: how much of the possible gain is knowable, by a policy that knows the consumers world's laws. It takes a
// second per customer and seed, so only some cases are judged; in a smaller world all customers would have the same luck.
import { parseArgs } from "node:util";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { createLawAwarePolicy } from "../laws/law-aware-policy.ts";
import { createDunlinPolicy } from "../trial/dunlin-policy.ts";
import { readPretrainedModel } from "../trial/open-world.ts";
import { oracle } from "../trial/oracle.ts";
import type { Policy } from "../trial/policy.ts";
import { runTrial } from "../trial/run-trial.ts";
import { even } from "../trial/scheduled-policies.ts";
import { computeFigures, type Figures } from "../trial/trial-figures.ts";
import { world as consumers } from "../worlds/consumers/world.ts";
import type { World } from "../worlds/world.ts";

const { values } = parseArgs({
  options: {
    customers: { type: "string", default: "20000" },
    judged: { type: "string", default: "1000" },
    seeds: { type: "string", default: "1,2,3,4,5" },
  },
});
const [customers, judged] = [Number(values.customers), Number(values.judged)];
const prior = readPretrainedModel();

function runTrials(policyFor: (world: World) => Policy, seed: number, customerCount: number): Figures {
  const world = consumers();
  const judgedIds = new Set([...world.bills(seed, judged)].map(({ id }) => id));
  const { cases, retries } = runTrial(world, policyFor(world), seed, customerCount);
  return computeFigures({
    cases: cases.filter(({ bill }) => judgedIds.has(bill.id)),
    retries: retries.filter(({ open }) => judgedIds.has(open.bill.id)),
  });
}

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
console.log(
  `value and retries per recovery of ${judged} of ${customers} customers; share closed of the gap from evenly spaced retries to the oracle`,
);
console.log("seed   even          warm          knows the laws  oracle        closed by warm, by the laws");
for (const seed of values.seeds.split(",").map(Number)) {
  const all = [
    runTrials(even, seed, judged),
    runTrials(() => createDunlinPolicy(fromPretrained(prior)), seed, customers),
    runTrials(() => createLawAwarePolicy(seed, judged), seed, judged),
    runTrials(oracle, seed, judged),
  ];
  const [evenValue, warm, laws, oracleValue] = all.map(({ value }) => value) as [number, number, number, number];
  const closed = (value: number) => percent((value - evenValue) / (oracleValue - evenValue));
  const cells = all.map((each) => `${percent(each.value)}, ${each.attemptsPerRecovery?.toFixed(2)}`.padEnd(13));
  console.log(`${String(seed).padStart(4)}   ${cells.join(" ")}   ${closed(warm)}, ${closed(laws)}`);
}
