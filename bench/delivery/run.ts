// `npm run bench -- delivery`: compares sending with undici alone and with job queues.
import { availableParallelism, cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { backlog } from "./backlog.ts";
import { hanging } from "./hanging-endpoints.ts";
import { latency } from "./latency.ts";
import { outage } from "./outage.ts";
import { throughput } from "./throughput.ts";

const PARTS = { throughput, latency, backlog, outage, hanging };
type Name = keyof typeof PARTS;

const { values, positionals } = parseArgs({ options: { quick: { type: "boolean" } }, allowPositionals: true });
const names = (positionals.length > 0 ? positionals : Object.keys(PARTS)) as Name[];
const unknown = names.find((name) => !(name in PARTS));
if (unknown !== undefined) {
  console.error(`bench:delivery: there is no "${unknown}". Use any of ${Object.keys(PARTS).join(", ")}, or --quick.`);
  process.exit(2);
}
const load = loadavg()[0]!.toFixed(1);
console.log(`${availableParallelism()} cores (${cpus()[0]?.model}), load ${load}, Node ${process.version}`);
for (const name of names) await PARTS[name](values.quick === true);
