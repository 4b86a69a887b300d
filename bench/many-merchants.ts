// `npm run bench -- merchants`: the cost of many merchants for an idle process, and a new case's wait while a fifth are due.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import pino from "pino";
import type { Merchant } from "../src/domain/merchant.ts";
import { ingestInvoices } from "../src/ingest/ingest-invoices.ts";
import { createMerchant } from "../src/merchants/merchant-settings.ts";
import { type Database, prepared } from "../src/postgres/database.ts";
import { openStore } from "../src/process/open-store.ts";
import { findFreePort } from "../test/free-port.ts";
import { readTreeCpuMs } from "./cpu-time.ts";
import { createScratchSettings } from "./scratch-database.ts";

const { values } = parseArgs({
  options: { merchants: { type: "string", default: "10000" }, due: { type: "string", default: "2000" } },
});
const [merchantCount, dueCount] = [Number(values.merchants), Number(values.due)];
const IDLE_MS = 30_000;
const WARM_MS = 10_000;
const ROUNDS = 4;
const PROGRAM = join(import.meta.dirname, "..", "bin", "dunlin.js");
/** A case's first step leaves a decision. */
const HAS_DECISION = prepared("bench_stepped", "select 1 from decisions where merchant_id = $1 limit 1");
const DUE = prepared("bench_due", "select count(distinct merchant_id)::int as n from due_cases where due_at <= now()");

const dataDir = await mkdtemp(join(tmpdir(), "dunlin-bench-"));
const port = await findFreePort();
const env = { PATH: process.env.PATH, DUNLIN_DATA: dataDir, DUNLIN_PORT: String(port), DUNLIN_LOG_LEVEL: "warn" };
const child = spawn(process.execPath, [PROGRAM, "serve"], { env, stdio: ["ignore", "pipe", "inherit"] });
process.once("exit", () => child.kill("SIGKILL"));
for await (const line of createInterface({ input: child.stdout! })) if (line.startsWith("dunlin is ready")) break;
child.stdout!.resume();
const postmaster = Number((await readFile(join(dataDir, "postgres/cluster/postmaster.pid"), "utf8")).split("\n")[0]);
const { settings } = await createScratchSettings({}, dataDir);
const store = await openStore(settings, "borrow", 4, pino({ level: "silent" }), () => {});
try {
  const cpuMs = () => readTreeCpuMs(child.pid!, [postmaster]);
  const merchants: Merchant[] = [];
  await measureIdle("no merchant", cpuMs);
  await store.db.transaction(async (tx) => {
    for (let n = 0; n < merchantCount; n++)
      merchants.push(await createMerchant(tx, `Merchant ${n}`, {}, store.secretKeys, store.ports));
  });
  await measureIdle(`${merchantCount} merchants`, cpuMs);
  const waits: number[] = [];
  for (let round = 0; round < ROUNDS; round++) waits.push(...(await runRound(store.db, merchants)));
  waits.sort((a, b) => a - b);
  const at = (share: number) =>
    `${Math.round(waits[Math.min(waits.length - 1, Math.floor(share * waits.length))]!)} ms`;
  console.log(
    `a new case, while up to ${dueCount} merchants are due: ${at(0.5)} at p50, ${at(0.99)} at p99, ${at(1)} at most (${waits.length} cases)`,
  );
} finally {
  await store.close();
  child.kill("SIGTERM");
  await once(child, "exit");
  await rm(dataDir, { recursive: true, force: true });
}

async function measureIdle(what: string, cpuMs: () => number) {
  await sleep(WARM_MS);
  const [from, before] = [performance.now(), cpuMs()];
  await sleep(IDLE_MS);
  const perSecond = (cpuMs() - before) / ((performance.now() - from) / 1_000);
  console.log(`idle with ${what}: ${perSecond.toFixed(1)} ms of the process's CPU per second`);
}

/** Makes merchants due, and others' new cases meanwhile. Returns each one's wait in milliseconds. */
async function runRound(db: Database, merchants: Merchant[]): Promise<number[]> {
  child.kill("SIGSTOP");
  for (const merchant of merchants.splice(0, dueCount)) await createFailedInvoice(merchant);
  child.kill("SIGCONT");
  const waits: number[] = [];
  while ((await db.run<{ n: number }>(DUE)).rows[0]!.n > dueCount / 20) {
    const merchant = merchants.pop();
    if (merchant === undefined) throw new Error("there are too few merchants for so many due ones");
    await createFailedInvoice(merchant);
    const from = performance.now();
    while ((await db.run(HAS_DECISION, [merchant.id])).rowCount === 0) await sleep(5);
    waits.push(performance.now() - from);
  }
  return waits;
}

async function createFailedInvoice(merchant: Merchant) {
  const { ports, tenantDb } = store;
  const now = ports.now();
  const of = { customerId: "cus_1", amount: 1_900, currency: "EUR", createdAt: now, updatedAt: now };
  const invoice = { id: "inv_1", state: "UNPAID", ...of } as const;
  await ingestInvoices(tenantDb.of(merchant.id), merchant, [[invoice]], ports, () => {});
}
