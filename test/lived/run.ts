// `npm run bench:service -- --worlds issuers --customers 2000`: whether the service recovers in a world what its engine does in a trial of the same world, on the same luck.
import { parseArgs } from "node:util";
import { dunlin } from "../../simulator/trial/dunlin.ts";
import { figuresOf } from "../../simulator/trial/figures.ts";
import { runTrial, type Trial } from "../../simulator/trial/run-trial.ts";
import { even } from "../../simulator/trial/schedules.ts";
import { openWorld, shippedPrior, WORLDS } from "../../simulator/trial/worlds.ts";
import { fromPrior } from "../../src/model/prior.ts";
import { openDatabase } from "../../src/store/database.ts";
import { at, atServer, exitWhenInterrupted, startTestServer, TEMPLATE } from "../server.ts";
import { inWholeDays, liveWorld } from "./live-world.ts";

const { values } = parseArgs({
  options: {
    worlds: { type: "string", default: Object.keys(WORLDS).join(",") },
    seeds: { type: "string", default: "1" },
    customers: { type: "string", default: "1000" },
    /** Push subscriptions and invoices alone. */
    alone: { type: "boolean", default: false },
  },
});
const customers = Number(values.customers);
const prior = shippedPrior();
const open = async (name: string) => inWholeDays(await openWorld(name));
const cells = (trial: Trial) => {
  const { value, recoveredCases, attemptsPerRecovery, brokenRules } = figuresOf(trial);
  const percent = (share: number) => `${(100 * share).toFixed(1).padStart(5)}%`;
  return `${percent(value)} ${percent(recoveredCases)} ${(attemptsPerRecovery ?? 0).toFixed(2).padStart(6)} ${String(brokenRules).padStart(4)}`;
};

exitWhenInterrupted();
const server = await startTestServer();
try {
  const head = "value cases  tries rules";
  console.log(
    `Of each: what was recovered less what it cost, cases recovered, tries per recovery, rules broken.${values.alone ? " Merchants push no attempts, and refuse to retry a bill whose last decline was for good." : ""}`,
  );
  console.log(
    `world      seed  cases | ${["even tries", "trial", "service"].map((name) => name.padEnd(head.length)).join(" | ")}`,
  );
  for (const name of values.worlds.split(","))
    for (const seed of values.seeds.split(",").map(Number)) {
      const trial = async (policy: ReturnType<typeof even>) => runTrial(await open(name), policy, seed, customers);
      const [spread, own] = [await trial(even()), await trial(dunlin(fromPrior(prior)))];
      const database = `lived_${seed}_${name.replaceAll(/\W/g, "_").slice(-40)}`;
      await atServer(server.address, `create database ${database} template ${TEMPLATE}`);
      const db = openDatabase(at(server.address, database), 4, () => {});
      const lived = await liveWorld(db, await open(name), { seed, customers, prior, alone: values.alone });
      await db.close();
      await atServer(server.address, `drop database ${database} with (force)`);
      console.log(
        `${name.padEnd(10)} ${String(seed).padStart(4)} ${String(lived.cases.length).padStart(6)} | ${[spread, own, lived].map(cells).join(" | ")}`,
      );
      const { retries, cardChanges, ends, refused } = lived.asked;
      console.log(
        `    asked for: ${retries} retries, ${lived.tries.length} made${refused > 0 ? `, ${refused} refused` : ""}; ${cardChanges} changes of card; ${ends} ends of dunning`,
      );
    }
} finally {
  await server.stop();
}
