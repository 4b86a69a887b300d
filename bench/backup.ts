// `npm run bench -- backup`: backs up and restores many recovery actions, and compares every table by rows and hashes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pino from "pino";
import { openDatabase, prepared } from "../src/postgres/database.ts";
import { startEmbedded } from "../src/postgres/embedded/start.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { maintainDecisionPartitions } from "../src/tables/decisions.ts";
import { maintainDeliveryLogPartitions } from "../src/tables/delivery-log.ts";
import { fillMerchants } from "../test/plans/fill-plans.ts";

const { values } = parseArgs({ options: { actions: { type: "string", default: "2000000" } } });
const actions = Number(values.actions);
const PROGRAM = join(import.meta.dirname, "..", "bin", "dunlin.js");
/** In minutes from March 1, 2026, one per invoice. */
const ACTIONS_PER_MERCHANT = 20_000;
const SIZE = prepared("", "select pg_database_size(current_database())::float8 as bytes");

const root = await mkdtemp(join(tmpdir(), "dunlin-bench-"));
try {
  const log = pino({ level: "silent" });
  const embedded = await startEmbedded({ dataDir: join(root, "from", "postgres"), log });
  await migrate(embedded.address, log);
  const db = openDatabase(embedded.address, 1, () => {}, 3_600_000);
  const [now, long] = [new Date("2026-03-15T00:00:00Z"), new Date(0)];
  await maintainDecisionPartitions(db, now, long);
  await maintainDeliveryLogPartitions(db, now, long);
  const merchants = Math.max(1, Math.round(actions / ACTIONS_PER_MERCHANT));
  for (let first = 1; first <= merchants; first += 10)
    await fillMerchants(db, {
      first,
      last: Math.min(merchants, first + 9),
      invoices: Math.min(actions, ACTIONS_PER_MERCHANT),
    });
  const { bytes } = (await db.run<{ bytes: number }>(SIZE)).rows[0]!;
  console.log(
    `${(merchants * Math.min(actions, ACTIONS_PER_MERCHANT)).toLocaleString("en-US")} actions, ${(bytes / 1e9).toFixed(1)} GB in PostgreSQL`,
  );
  await db.close();
  const file = join(root, "all.backup");
  await dunlin("from", "backup", file);
  console.log(`file: ${((await stat(file)).size / 1e6).toFixed(0)} MB`);
  await dunlin("to", "restore", file);
  await embedded.stop();
} finally {
  await rm(root, { recursive: true, force: true });
}

async function dunlin(folder: string, ...words: string[]) {
  const env = { PATH: process.env.PATH, DUNLIN_DATA: join(root, folder) };
  const begun = performance.now();
  const child = spawn(process.execPath, [PROGRAM, ...words], { env, stdio: ["ignore", "inherit", "inherit"] });
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`dunlin ${words[0]} ended with ${code}`);
  console.log(`${words[0]}: ${((performance.now() - begun) / 60_000).toFixed(1)} minutes`);
}
