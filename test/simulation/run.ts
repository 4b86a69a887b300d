// `node test/simulation/run.ts --seeds 20 --customers 500`: simulates years with other seeds and sizes than `npm test`.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { ENGINES } from "../../src/domain/merchant.ts";
import {
  exitWhenInterrupted,
  runOnServer,
  startTestServer,
  TEMPLATE_DATABASE,
  withDatabaseName,
} from "../test-server.ts";
import { findViolations, summarizeYear } from "./invariant-checks.ts";
import { simulateYear } from "./simulate-year.ts";

// The command `dunlin simulate` compares policies in a world.
if (process.argv.some((each) => /^--world(=|$)/.test(each))) {
  const args = ["bin/dunlin.js", "simulate", ...process.argv.slice(2)];
  process.exit(spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1);
}

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1" },
    from: { type: "string", default: "1" },
    customers: { type: "string", default: "150" },
    days: { type: "string", default: "365" },
    /** with, without or both */
    transactions: { type: "string", default: "both" },
    /** learned or static */
    engine: { type: "string", default: "learned" },
  },
});
const from = Number(values.from);
const engine = ENGINES.find((each) => each === values.engine);
if (!engine) throw new Error(`--engine takes ${ENGINES.join(" or ")}`);
const transactionModes = values.transactions === "both" ? [true, false] : [values.transactions === "with"];

exitWhenInterrupted();
const server = await startTestServer();
let failed = 0;
try {
  for (let seed = from; seed < from + Number(values.seeds); seed++) {
    for (const pushTransactions of transactionModes) {
      const name = `year_${seed}_${pushTransactions ? "with" : "without"}`;
      await runOnServer(server.address, `create database ${name} template ${TEMPLATE_DATABASE}`);
      const scenario = {
        seed,
        customers: Number(values.customers),
        days: Number(values.days),
        pushTransactions,
        engine,
      };
      const year = await simulateYear(withDatabaseName(server.address, name), scenario);
      await runOnServer(server.address, `drop database ${name} with (force)`);
      const said = findViolations(year);
      console.log(summarizeYear(year));
      for (const line of said) console.log(line);
      if (said.length > 0) failed++;
    }
  }
} finally {
  await server.stop();
}
process.exit(failed > 0 ? 1 : 0);
