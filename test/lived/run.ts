// `npm run lab -- service --worlds issuers --customers 2000`: whether the service recovers as much in a world as its engine does
// in a trial of the same world, with the same luck.
import { parseArgs } from "node:util";
import { createDunlinPolicy } from "../../lab/trial/dunlin-policy.ts";
import { openWorld, readPretrainedModel, WORLDS } from "../../lab/trial/open-world.ts";
import { runTrial, type Trial } from "../../lab/trial/run-trial.ts";
import { even } from "../../lab/trial/scheduled-policies.ts";
import { computeFigures } from "../../lab/trial/trial-figures.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { openDatabase } from "../../src/postgres/database.ts";
import {
  exitWhenInterrupted,
  runOnServer,
  startTestServer,
  TEMPLATE_DATABASE,
  withDatabaseName,
} from "../test-server.ts";
import { runWorldThroughService, withWholeDayWindows } from "./world-through-service.ts";

const { values } = parseArgs({
  options: {
    worlds: { type: "string", default: Object.keys(WORLDS).join(",") },
    seeds: { type: "string", default: "1" },
    customers: { type: "string", default: "1000" },
    /** Pushes only subscriptions and invoices. */
    alone: { type: "boolean", default: false },
  },
});
const customers = Number(values.customers);
const prior = readPretrainedModel();
const open = async (name: string) => withWholeDayWindows(await openWorld(name));
const cells = (trial: Trial) => {
  const { value, recoveredCases, attemptsPerRecovery, brokenRules } = computeFigures(trial);
  const percent = (share: number) => `${(100 * share).toFixed(1).padStart(5)}%`;
  return `${percent(value)} ${percent(recoveredCases)} ${(attemptsPerRecovery ?? 0).toFixed(2).padStart(6)} ${String(brokenRules).padStart(4)}`;
};

exitWhenInterrupted();
const server = await startTestServer();
try {
  const head = "value cases  tries rules";
  console.log(
    `Columns: recovered value minus costs, cases recovered, retries per recovery, rules broken.${values.alone ? " Merchants push no attempts, and refuse to retry an invoice after a hard decline." : ""}`,
  );
  console.log(
    `world      seed  cases | ${["even tries", "trial", "service"].map((name) => name.padEnd(head.length)).join(" | ")}`,
  );
  for (const name of values.worlds.split(","))
    for (const seed of values.seeds.split(",").map(Number)) {
      const trial = async (policy: ReturnType<typeof even>) => runTrial(await open(name), policy, seed, customers);
      const [spread, own] = [await trial(even()), await trial(createDunlinPolicy(fromPretrained(prior)))];
      const database = `lived_${seed}_${name.replaceAll(/\W/g, "_").slice(-40)}`;
      await runOnServer(server.address, `create database ${database} template ${TEMPLATE_DATABASE}`);
      const db = openDatabase(withDatabaseName(server.address, database), 4, () => {});
      const lived = await runWorldThroughService(db, await open(name), { seed, customers, prior, alone: values.alone });
      await db.close();
      await runOnServer(server.address, `drop database ${database} with (force)`);
      console.log(
        `${name.padEnd(10)} ${String(seed).padStart(4)} ${String(lived.cases.length).padStart(6)} | ${[spread, own, lived].map(cells).join(" | ")}`,
      );
      const { retries, cardChanges, ends, refused } = lived.asked;
      console.log(
        `    asked for: ${retries} retries, ${lived.retries.length} made${refused > 0 ? `, ${refused} refused` : ""}; ${cardChanges} changes of card; ${ends} ends of dunning`,
      );
    }
} finally {
  await server.stop();
}
