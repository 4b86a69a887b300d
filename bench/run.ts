import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { benchDelivery } from "./delivery.ts";
import { benchIngest } from "./ingest.ts";
import { benchRequestParsing } from "./request-parsing.ts";

const BENCHES = { reading: benchRequestParsing, ingest: benchIngest, delivery: benchDelivery };
type Name = keyof typeof BENCHES;

const { values, positionals } = parseArgs({ options: { quick: { type: "boolean" } }, allowPositionals: true });
const names = (positionals.length > 0 ? positionals : Object.keys(BENCHES)) as Name[];
const unknown = names.find((name) => !(name in BENCHES));
if (unknown !== undefined) {
  console.error(`bench: there is no "${unknown}". Use any of ${Object.keys(BENCHES).join(", ")}, or --quick.`);
  process.exit(2);
}
const load = loadavg()[0]!.toFixed(1);
console.log(`${availableParallelism()} cores (${cpus()[0]?.model}), load ${load}, Node ${process.version}`);
for (const name of names) await BENCHES[name](values.quick === true);
