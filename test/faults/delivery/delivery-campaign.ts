import { randomBytes } from "node:crypto";
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
import { type CampaignOptions, type CampaignResult, type CampaignStage, runCampaign } from "../harness/campaign.ts";
import { openPostgresProcesses } from "../harness/postgres-processes.ts";
import type { ReportProblem } from "../harness/problems.ts";
import { type Receiver, type Reply, startReceiver } from "../harness/receiver.ts";
import {
  createEnvironment,
  createServiceFleet,
  type Interval,
  type ServiceFleet,
  SOURCE_PRELOAD,
  stopInTime,
} from "../harness/service-fleet.ts";
import { readStoredRows } from "../harness/stored-rows.ts";
import { verifyEvents, verifyReceiver } from "../harness/verify-events.ts";
import { type Fault, injectFaults, roleOf } from "./delivery-faults.ts";
import { formatSummary } from "./delivery-summary.ts";
import { type EventFeed, startEventFeed } from "./event-feed.ts";

export interface DeliveryCampaignOptions extends CampaignOptions {
  events: number;
  faults: readonly Fault[];
}

/** Speed of service time: the schedule's hours take seconds. */
const RATE = 1_000;
const PROCESSES = 2;
const MERCHANTS = 40;
const CONCURRENCY_CAP = 5;
const SLOW_MERCHANTS = 4;
const SLOW_REPLY: Reply = { answer: "ok", afterMs: [3_500, 3_500] };
const REPLIES: readonly (readonly [Reply, number])[] = [
  [{ answer: "ok" }, 63],
  [{ answer: "ok", afterMs: [1_000, 5_000] }, 8],
  [{ answer: "refuse", afterMs: [1_000, 5_000] }, 2],
  [{ answer: "cut body" }, 3],
  [{ answer: "endless body" }, 0.6],
  [{ answer: "refuse" }, 14],
  [{ answer: "busy" }, 2],
  [{ answer: "hang up" }, 6],
  [{ answer: "hang up", afterMs: [4_000, 4_000] }, 0.6],
];
/** Share of permanently refused events, which become exhausted. */
const REFUSED_EVENTS = 0.06;
const CONNECTIONS = 4;
/** After this long without progress the run is stuck. The longest delay of the schedule lasts 3.6 s. */
const STALL_MS = 20_000;

/** Kills, stops and disconnects processes that deliver, and their PostgreSQL, while merchants' endpoints fail. */
export const runDeliveryCampaign = (options: DeliveryCampaignOptions): Promise<CampaignResult> =>
  runCampaign(options, (stage) => runStage(options, stage));

const WAITING = prepared(
  "torture_waiting",
  "select count(*)::int as waiting, coalesce(sum(attempts), 0)::int as attempts from deliveries",
);

async function runStage(
  { seed, events, faults, print }: DeliveryCampaignOptions,
  { root, ends, problems, broken }: CampaignStage,
) {
  print(`seed ${seed}: ${events} events, ${faults.length} faults, service time ${RATE} times as fast`);
  const postgres = openPostgresProcesses(root);
  ends.push(() => postgres.aim(true).fire());
  const tls = await ensureLocalCertificate(join(root, "endpoint"), "127.0.0.1", new Date());
  const receiver = await startReceiver({
    ...{ seed, tls, replies: REPLIES, cap: CONCURRENCY_CAP },
    refused: { share: REFUSED_EVENTS, keyOf: ({ id }) => id },
    slow: { merchants: SLOW_MERCHANTS, reply: SLOW_REPLY },
  });
  ends.push(receiver.close);
  const log = pino({ level: "fatal" }, pino.destination(2));
  const onFatal = (error: Error) => broken("I12", `PostgreSQL did not come back: ${error.message}`);
  const embedded = await startEmbedded({ dataDir: join(root, "postgres"), log, onFatal });
  await migrate(embedded.address, log);
  const db = openDatabase(embedded.address, CONNECTIONS, () => {});
  const ports = createRealPorts(await anchorClock(db, RATE, new Date()));
  const secretKeys = [randomBytes(32)];
  const merchants = await createMerchants(db, receiver.port, secretKeys, ports);
  const shared = {
    DUNLIN_DATA: join(root, "service"),
    DUNLIN_SECRET_KEY: secretKeys[0]!.toString("base64"),
    DUNLIN_CLOCK_RATE: String(RATE),
    DUNLIN_CLOCK_RATE_CONFIRM: "yes",
    DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${receiver.port}`,
    DUNLIN_WEBHOOK_CA: tls.caFile,
  };
  const fleet = createServiceFleet({
    preloads: [SOURCE_PRELOAD],
    environment: (number) => createEnvironment({ ...shared, DATABASE_URL: urlOf(embedded.address, roleOf(number)) }),
    words: ["serve", "--roles", "deliver"],
    onEnd: (_process, how) => broken("I12", how),
  });
  ends.push(fleet.abandon);
  // A process has a database role of its own, by which its connections are found.
  await createRoles(db, PROCESSES + faults.length);
  for (let number = 0; number < PROCESSES; number++) await fleet.start();

  const { now, newId } = ports;
  const feeding = startEventFeed({ seed, db, merchants, sluggish: SLOW_MERCHANTS, events, now, newId });
  ends.push(feeding.stop);
  const { journal } = receiver;
  const onStep = (share: number) => feeding.allow(Math.min(1, share + 1 / Math.max(1, faults.length)));
  const { isIdle } = feeding;
  const { outages } = await injectFaults({ seed, faults, fleet, postgres, db, journal, onStep, isIdle, broken, print });
  while (!feeding.done()) await sleep(50);
  feeding.stop();
  receiver.calm();
  const drainedMs = await waitUntilDrained(db, () => journal.length, broken);
  for (const process of fleet.running()) await stopInTime(process, broken);
  const counts = await verifyMerchants(db, merchants, { receiver, feeding, fleet, outages }, { problems, broken });
  await db.close();
  await embedded.stop();
  return formatSummary({ counts: { ...counts, drainedMs }, faults, fleet });
}

interface Evidence {
  receiver: Receiver;
  feeding: EventFeed;
  fleet: ServiceFleet;
  outages: readonly Interval[];
}

/** Compares the records of all sides. Returns counts for the table. */
async function verifyMerchants(
  db: Database,
  merchants: readonly Merchant[],
  { receiver, feeding, fleet, outages }: Evidence,
  { problems, broken }: Pick<CampaignStage, "problems" | "broken">,
) {
  const counts: Record<string, number> = {};
  const stored = new Set<string>();
  const { bodies } = receiver;
  const { withdrawnAt } = feeding;
  const byMerchant = Map.groupBy(receiver.journal, ({ merchant }) => merchant);
  for (const [index, { id }] of merchants.entries()) {
    const rows = await readStoredRows(db, id);
    for (const event of rows.events) stored.add(event.id);
    const journal = byMerchant.get(index) ?? [];
    const found = verifyEvents({ rows, journal, bodies, processes: fleet.processes, outages, withdrawnAt });
    problems.push(...found.problems);
    for (const [name, count] of Object.entries(found.counts)) counts[name] = (counts[name] ?? 0) + count;
  }
  for (const id of feeding.committed) if (!stored.has(id)) broken("I3", `event ${id}: was committed and is gone`);
  verifyReceiver(receiver, stored, broken);
  return counts;
}

async function createRoles(db: Database, count: number) {
  for (let number = 0; number < count; number++)
    await db.run(prepared("", `create role ${roleOf(number)} superuser login`));
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
async function waitUntilDrained(db: Database, requests: () => number, broken: ReportProblem) {
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
