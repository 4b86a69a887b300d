// `npm run bench -- sdk`: the SDK's client against a hand-written loop, and its memory under a million records.
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { IngestFacts } from "./ingest-service.ts";
import { itemCountFor, measureRound, printComparison, type Round } from "./measure-rounds.ts";
import type { Memory, MemoryRun } from "./sdk-load.ts";
import { startBenchProcess } from "./worker-process.ts";

const TARGET = 0.8;
/** Between the first and last tenth. */
const GROWTH_MAX_MB = 32;
const HOUR_MS = 3_600_000;

const { values } = parseArgs({
  options: { quick: { type: "boolean" }, records: { type: "string" }, memory: { type: "boolean" } },
});
const records = Number(values.records ?? (values.quick ? 100_000 : 1_000_000));
console.log(`${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`);

const service = await startBenchProcess("ingest-service.ts");
const load = await startBenchProcess("sdk-load.ts");
try {
  const facts = await service.ask<IngestFacts>("facts");
  await load.ask("connect", facts);
  if (!values.memory) await compare(facts);
  await showMemory();
} finally {
  await load.stop();
  await service.stop();
}

async function compare(facts: IngestFacts) {
  const pids = { service: service.pid, PostgreSQL: facts.postmaster, client: load.pid };
  let count = 10_000;
  async function one(way: "sdk" | "loop"): Promise<Round> {
    await load.ask("prepare", count);
    return measureRound(count, pids, () => load.ask<number>("run", way, HOUR_MS));
  }
  await one("loop");
  const { perSecond } = await one("sdk");
  // A short pause must not dominate.
  count = Math.max(20_000, itemCountFor(perSecond, values.quick ? 2 : 6, 1000));
  const ours: Round[] = [];
  const ceiling: Round[] = [];
  for (let n = 0; n < (values.quick ? 3 : 5); n++) {
    ours.push(await one("sdk"));
    ceiling.push(await one("loop"));
  }
  const name =
    "client: new invoices, 100 a request, 5 in flight; ceiling: a loop of https.request without pacing or retries";
  printComparison({ name, ours, ceiling, target: TARGET }, "records");
}

async function showMemory() {
  const { start, tenths, end } = await load.ask<MemoryRun>("memory", records, HOUR_MS);
  const line = ({ heapMb, rssMb }: Memory) => `${heapMb.toFixed(0)} MB heap, ${rssMb.toFixed(0)} MB in all`;
  const grown = tenths.at(-1)!.heapMb - tenths[0]!.heapMb;
  console.log(
    `memory of the client: ${records.toLocaleString("en")} records from a generator, the most within a tenth of them`,
  );
  console.log(`  start        ${line(start)}`);
  for (const [n, tenth] of tenths.entries()) console.log(`  ${`tenth ${n + 1}`.padEnd(12)} ${line(tenth)}`);
  console.log(`  peak RSS     ${Math.max(...tenths.map(({ rssMb }) => rssMb)).toFixed(0)} MB`);
  console.log(`  end          ${line(end)}   ${grown <= GROWTH_MAX_MB ? "flat" : "GROWS"}`);
}
