import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../../src/postgres/database.ts";
import type { ReportProblem } from "../harness/problems.ts";
import { type ServiceFleet, stopInTime } from "../harness/service-fleet.ts";
import { countWaiting, digestTables, readStoredRows, type StoredRows } from "../harness/stored-rows.ts";
import type { CampaignDatabase } from "./campaign-database.ts";
import type { RecordPusher } from "./record-pusher.ts";

/** What a run works with, and its callbacks for problems and output. */
export interface TortureRun {
  database: CampaignDatabase;
  fleet: ServiceFleet;
  broken: ReportProblem;
  print(line: string): void;
}

interface Draining {
  pushing: RecordPusher;
  db: Database;
  merchantId: string;
  /** Service time. */
  now(): Date;
  rate: number;
}

const DRAIN_MS = 60_000;
const SETTLE_MS_MAX = 90_000;
/** Work due for longer than this is overdue; real time. */
const OVERDUE_MS = 1_000;
/** Every loop has run several times by then. */
const QUIET_PERIOD_MS = 3_000;

/** Drains the run after the faults: all due events go out, then all customers pay, and no work is left. */
export async function waitUntilDrained(draining: Draining, { fleet, broken, print }: TortureRun) {
  const { pushing, db, merchantId, now, rate } = draining;
  const began = Date.now();
  if (fleet.running().length === 0) await fleet.start();
  await waitForAcknowledgement(pushing.stopBilling().then(pushing.idle));
  const left = () => countWaiting(db, merchantId, new Date(now().getTime() - OVERDUE_MS * rate));
  const overdue = await waitUntilZero(DRAIN_MS, async () => (await left()).overdue);
  if (overdue > 0) broken("I3", `${overdue} deliveries are still overdue after ${DRAIN_MS} ms`);
  const drainedMs = Date.now() - began;
  await waitForAcknowledgement(pushing.settle());
  const unsettled = await waitUntilZero(SETTLE_MS_MAX, async () => {
    const { deliveries, cases } = await left();
    return deliveries + cases;
  });
  if (unsettled > 0)
    broken("I3", `${unsettled} deliveries and cases are not at rest ${SETTLE_MS_MAX} ms after all was paid`);
  print(`drained in ${drainedMs} ms, at rest after ${Date.now() - began} ms`);
}

/**
 * Stops the service, reads the database, restarts and stops the service without load, and checks that the database is unchanged.
 */
export async function verifyRestart(place: TortureRun, merchantId: string): Promise<StoredRows> {
  const { fleet, broken } = place;
  await terminateService(place);
  const before = await place.database.read(async (db) => ({
    rows: await readStoredRows(db, merchantId),
    tables: await digestTables(db),
  }));
  await fleet.start();
  await sleep(QUIET_PERIOD_MS);
  await terminateService(place);
  const tables = await place.database.read(digestTables);
  for (const [name, digest] of before.tables)
    if (tables.get(name) !== digest) broken("I17", `a restart changed ${name}: ${digest}, then ${tables.get(name)}`);
  return before.rows;
}

async function terminateService({ fleet, database, broken }: TortureRun) {
  await stopInTime(fleet.processes.at(-1)!, broken);
  if (database.isLeftBehind()) broken("I12", "PostgreSQL still runs after the service has stopped");
}

async function waitForAcknowledgement(pushed: Promise<void>) {
  const isDone = await Promise.race([pushed.then(() => true), sleep(DRAIN_MS, false, { ref: false })]);
  if (!isDone) throw new Error(`the service did not acknowledge everything within ${DRAIN_MS} ms`);
}

/** Returns the rest: 0, or the count at the limit. The database may still be recovering from the last fault. */
async function waitUntilZero(limitMs: number, count: () => Promise<number>) {
  let left = Number.POSITIVE_INFINITY;
  for (const deadline = Date.now() + limitMs; left > 0 && Date.now() < deadline; await sleep(200))
    left = await count().catch(() => left);
  return left;
}
