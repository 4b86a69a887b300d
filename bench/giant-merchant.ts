// `npm run bench -- giant`: one merchant with many due cases, and several deciding processes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ingestInvoices } from "../src/ingest/ingest-invoices.ts";
import { createMerchant } from "../src/merchants/merchant-settings.ts";
import { prepared } from "../src/postgres/database.ts";
import { openStore } from "../src/process/open-store.ts";
import { databaseUrlOf } from "../test/database-url.ts";
import { measureCpu } from "./cpu-time.ts";
import { createScratchSettings, readDatabaseFacts } from "./scratch-database.ts";

const { values } = parseArgs({
  options: { cases: { type: "string", default: "40000" }, deciders: { type: "string", default: "4" } },
});
const [cases, deciders] = [Number(values.cases), Number(values.deciders)];
const CHUNK = 1_000;
const LOOK_MS = 20;
const PROGRAM = new URL("../bin/dunlin.js", import.meta.url).pathname;
const DECIDED = prepared("bench_decided", "select count(*)::int as n from decisions");
/** Active, and waiting for another transaction's lock. */
const SESSIONS = prepared(
  "bench_sessions",
  `select count(*)::int as busy, count(*) filter (where wait_event_type = 'Lock')::int as waiting
   from pg_stat_activity where datname = current_database() and backend_type = 'client backend'
     and state <> 'idle' and pid <> pg_backend_pid()`,
);

const { settings, log, remove } = await createScratchSettings();
const store = await openStore(settings, "own", 2, log, (error) => {
  throw error;
});
const children = new Set<ReturnType<typeof spawn>>();
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});
try {
  const { db, ports, address } = store;
  const { postmaster, server } = await readDatabaseFacts(db, address, settings.dataDir);
  const merchant = await createMerchant(db, "Giant", {}, store.secretKeys, ports);
  for (let from = 0; from < cases; from += CHUNK)
    await ingestInvoices(
      db,
      merchant,
      [[...Array.from({ length: CHUNK }, (_, n) => makeInvoice(from + n))]],
      ports,
      () => {},
    );
  console.log(`${cases.toLocaleString("en")} due cases of one merchant, ${deciders} deciders; ${server}`);
  await Promise.all(Array.from({ length: deciders }, startDecider));
  const decided = async () => (await db.run<{ n: number }>(DECIDED)).rows[0]!.n;
  const before = await decided();
  const from = performance.now();
  let [busy, waiting] = [0, 0];
  const pids = Object.fromEntries([...children].map((child, n) => [`decider ${n + 1}`, child.pid!]));
  const { cpuMs } = await measureCpu({ PostgreSQL: postmaster, ...pids }, async () => {
    for (let last = before; ; ) {
      for (let looks = 0; looks < 50; looks++) {
        const { rows } = await store.owner.run<{ busy: number; waiting: number }>(SESSIONS);
        busy += rows[0]!.busy;
        waiting += rows[0]!.waiting;
        await sleep(LOOK_MS);
      }
      const now = await decided();
      if (now === last || now >= cases) return;
      last = now;
    }
  });
  const steps = (await decided()) - before;
  const seconds = (performance.now() - from) / 1_000;
  const own = Object.entries(cpuMs).reduce((sum, [name, ms]) => sum + (name === "PostgreSQL" ? 0 : ms), 0);
  console.log(
    `${Math.round(steps / seconds).toLocaleString("en")} steps per second; CPU µs per step: deciders ${Math.round((own * 1_000) / steps)}, PostgreSQL ${Math.round((cpuMs.PostgreSQL! * 1_000) / steps)}; of the statements under way ${((100 * waiting) / Math.max(1, busy)).toFixed(1)}% waited for a lock`,
  );
} finally {
  for (const child of children) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  await store.close();
  await remove();
}

async function startDecider() {
  const env = { PATH: process.env.PATH, DUNLIN_DATA: settings.dataDir, DATABASE_URL: databaseUrlOf(store.address) };
  const words = [PROGRAM, "serve", "--roles", "decide"];
  const child = spawn(process.execPath, words, {
    env: { ...env, DUNLIN_LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.add(child);
  for await (const line of createInterface({ input: child.stdout! })) if (line.startsWith("dunlin is ready")) break;
  child.stdout!.resume();
}

function makeInvoice(n: number) {
  const at = store.ports.now();
  const of = { customerId: `cus_${n}`, amount: 1_900, currency: "EUR", createdAt: at, updatedAt: at };
  return { id: `in_${n}`, state: "UNPAID" as const, ...of };
}
