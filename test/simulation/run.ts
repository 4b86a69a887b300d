// `node test/simulation/run.ts --seeds 20 --customers 500`: years of other seeds and sizes than `npm test` has.
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { ENGINES } from "../../src/domain/merchant.ts";
import { at, atServer, exitWhenInterrupted, startTestServer, TEMPLATE } from "../server.ts";
import { simulate } from "./simulate.ts";
import { complaints, figuresOf } from "./verdict.ts";

// Policies are compared in a world by the command of the same name.
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
const modes = values.transactions === "both" ? [true, false] : [values.transactions === "with"];

exitWhenInterrupted();
const server = await startTestServer();
let failed = 0;
try {
  for (let seed = from; seed < from + Number(values.seeds); seed++) {
    for (const pushTransactions of modes) {
      const name = `year_${seed}_${pushTransactions ? "with" : "without"}`;
      await atServer(server.address, `create database ${name} template ${TEMPLATE}`);
      const scenario = {
        seed,
        customers: Number(values.customers),
        days: Number(values.days),
        pushTransactions,
        engine,
      };
      const year = await simulate(at(server.address, name), scenario);
      await atServer(server.address, `drop database ${name} with (force)`);
      const said = complaints(year);
      console.log(figuresOf(year));
      for (const line of said) console.log(line);
      if (said.length > 0) failed++;
    }
  }
} finally {
  await server.stop();
}
process.exit(failed > 0 ? 1 : 0);
