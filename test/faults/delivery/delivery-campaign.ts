import { randomBytes } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import type { Merchant } from "../../../src/domain/merchant.ts";
import { ensureLocalCertificate } from "../../../src/http/local-certificate.ts";
import { createMerchant } from "../../../src/merchants/merchant-settings.ts";
import { type Address, type Database, openDatabase, prepared } from "../../../src/postgres/database.ts";
import { startEmbedded } from "../../../src/postgres/embedded/start.ts";
import { migrate } from "../../../src/postgres/migrate.ts";
import { anchorClock, createRealPorts } from "../../../src/process/clock.ts";
import type { SecretKeys } from "../../../src/tables/secret-box.ts";
import { openPostgresProcesses } from "../process/postgres-processes.ts";
import { createEnvironment } from "../process/service-process.ts";
import { readStoredRows } from "../process/stored-rows.ts";
import type { Problem } from "../process/verify-records.ts";
import { type Fault, injectFaults } from "./delivery-faults.ts";
import { createDeliveryFleet } from "./delivery-fleet.ts";
import { formatSummary } from "./delivery-summary.ts";
import { startEventFeed } from "./event-feed.ts";
import { startReceiver } from "./event-receiver.ts";
import { verifyEvents } from "./verify-events.ts";

export interface TortureOptions {
  seed: number;
  events: number;
  faults: readonly Fault[];
  print(line: string): void;
}

export interface TortureResult {
  problems: Problem[];
  /** The table and the problems. */
  lines: string[];
}

/** Speed of service time: the schedule's hours take seconds. */
const RATE = 1_000;
const PROCESSES = 2;
const MERCHANTS = 40;
const CONCURRENCY_CAP = 5;
const SLOW_MERCHANTS = 4;
const CONNECTIONS = 4;
/** After this long without progress the run is stuck. The longest delay of the schedule lasts 3.6 s. */
const STALL_MS = 20_000;

/** Runs the campaign in a temporary folder. Removes it and ends all processes afterwards. */
export async function runDeliveryCampaign(options: TortureOptions): Promise<TortureResult> {
  const root = await mkdtemp(join(tmpdir(), "dunlin-torture-"));
  // PostgreSQL runs as another user if this process runs as root.
  chmodSync(root, 0o755);
  const ends: (() => void)[] = [];
  const clean = () => {
    for (const end of ends.splice(0).reverse()) end();
    openPostgresProcesses(root).aim(true).fire();
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  const interrupted = () => process.exit(130);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupted);
  process.once("exit", clean);
  const problems: Problem[] = [];
  try {
    return { problems, lines: await run(options, root, ends, problems) };
  } catch (error) {
    problems.push({ invariant: "the run", says: (error as Error).stack! });
    const lines = problems.map(({ invariant, says }) => `${invariant}: ${says}`);
    return { problems, lines: [...lines, "", `Broken with --seed ${options.seed}.`] };
  } finally {
    clean();
    process.removeListener("exit", clean);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.removeListener(signal, interrupted);
  }
}

const WAITING = prepared(
  "torture_waiting",
  "select count(*)::int as waiting, coalesce(sum(attempts), 0)::int as attempts from deliveries",
);

async function run(
  { seed, events, faults, print }: TortureOptions,
  root: string,
  ends: (() => void)[],
  problems: Problem[],
) {
  print(`seed ${seed}: ${events} events, ${faults.length} faults, service time ${RATE} times as fast`);
  const broken = (invariant: string, says: string) => {
    problems.push({ invariant, says });
    print(`          BROKEN ${invariant}: ${says}`);
  };
  const tls = await ensureLocalCertificate(join(root, "endpoint"), "127.0.0.1", new Date());
  const receiver = await startReceiver({ seed, tls, cap: CONCURRENCY_CAP, sluggish: SLOW_MERCHANTS });
  ends.push(receiver.close);
  const log = pino({ level: "fatal" }, pino.destination(2));
  const onFatal = (error: Error) => broken("I12", `PostgreSQL did not come back: ${error.message}`);
  const embedded = await startEmbedded({ dataDir: join(root, "postgres"), log, onFatal });
  await migrate(embedded.address, log);
  const db = openDatabase(embedded.address, CONNECTIONS, () => {});
  const ports = createRealPorts(await anchorClock(db, RATE, new Date()));
  const secretKeys = [randomBytes(32)];
  const merchants = await createMerchants(db, receiver.port, secretKeys, ports);
  const fleet = createDeliveryFleet({
    broken,
    environment: (_number, role) =>
      createEnvironment({
        DATABASE_URL: urlOf(embedded.address, role),
        DUNLIN_DATA: join(root, "service"),
        DUNLIN_SECRET_KEY: secretKeys[0]!.toString("base64"),
        DUNLIN_CLOCK_RATE: String(RATE),
        DUNLIN_CLOCK_RATE_CONFIRM: "yes",
        DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${receiver.port}`,
        DUNLIN_WEBHOOK_CA: tls.caFile,
      }),
    onStart: async (role) => {
      await db.run(prepared(`torture_${role}`, `create role ${role} superuser login`));
    },
  });
  ends.push(fleet.abandon);
  for (let number = 0; number < PROCESSES; number++) await fleet.start();

  const { now, newId } = ports;
  const feeding = startEventFeed({ seed, db, merchants, sluggish: SLOW_MERCHANTS, events, now, newId });
  ends.push(feeding.stop);
  const postgres = openPostgresProcesses(root);
  const { journal } = receiver;
  const onStep = (share: number) => feeding.allow(Math.min(1, share + 1 / Math.max(1, faults.length)));
  const { isIdle } = feeding;
  const { outages } = await injectFaults({ seed, faults, fleet, postgres, db, journal, onStep, isIdle, broken, print });
  while (!feeding.done()) await sleep(50);
  feeding.stop();
  receiver.calm();
  const drainedMs = await waitUntilDrained(db, () => journal.length, broken);
  for (const life of fleet.running()) await fleet.terminate(life);

  const counts: Record<string, number> = { drainedMs, merchants: merchants.length, processes: fleet.lives.length };
  const known = new Set<string>();
  const { bodies, changed, overCap } = receiver;
  const { committed, withdrawnAt } = feeding;
  const byMerchant = Map.groupBy(journal, ({ merchant }) => merchant);
  for (const [index, { id }] of merchants.entries()) {
    const rows = await readStoredRows(db, id);
    for (const event of rows.events) known.add(event.id);
    const own = byMerchant.get(index) ?? [];
    const books = { rows, journal: own, bodies, lives: fleet.lives, outages, committed, withdrawnAt };
    const found = verifyEvents(books);
    problems.push(...found.problems);
    for (const [name, count] of Object.entries(found.counts)) counts[name] = (counts[name] ?? 0) + count;
  }
  for (const id of committed)
    if (!known.has(id)) problems.push({ invariant: "I3", says: `event ${id}: was committed and is gone` });
  for (const id of bodies.keys())
    if (!known.has(id)) problems.push({ invariant: "I3", says: `event ${id}: was sent and is not stored` });
  for (const id of changed) problems.push({ invariant: "I6", says: `event ${id}: came with two bodies` });
  for (const says of overCap) problems.push({ invariant: "I13", says });
  await db.close();
  await embedded.stop();
  return formatSummary({ seed, counts, faults, fleet, problems });
}

async function createMerchants(
  db: Database,
  port: number,
  secretKeys: SecretKeys,
  ports: ReturnType<typeof createRealPorts>,
) {
  const merchants: Merchant[] = [];
  for (let index = 0; index < MERCHANTS; index++) {
    const settings = { webhookUrl: `https://127.0.0.1:${port}/hooks/${index}`, webhookCap: CONCURRENCY_CAP };
    merchants.push(await createMerchant(db, `Torture ${index}`, settings, secretKeys, ports));
  }
  return merchants;
}

function urlOf(address: Address, role: string): string {
  if (!("socketDir" in address)) throw new Error("the torture has an embedded server");
  return `postgresql://${role}@/${address.database}?host=${encodeURIComponent(address.socketDir)}`;
}

/** Resolves with the milliseconds until no delivery waits. */
async function waitUntilDrained(
  db: Database,
  requests: () => number,
  broken: (invariant: string, says: string) => void,
) {
  const began = Date.now();
  let last = "";
  let movedAt = began;
  for (;;) {
    const found = await db.run<{ waiting: number; attempts: number }>(WAITING).catch(() => null);
    const row = found?.rows[0];
    if (row?.waiting === 0) return Date.now() - began;
    const state = `${row?.waiting} ${row?.attempts} ${requests()}`;
    if (state !== last) movedAt = Date.now();
    last = state;
    if (Date.now() - movedAt > STALL_MS) {
      broken("I3", `${row?.waiting} events wait, and nothing has moved for ${STALL_MS} ms`);
      return Date.now() - began;
    }
    await sleep(100);
  }
}
