import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import { type Database, prepared } from "../../../src/postgres/database.ts";
import { drawFaults as drawByShare } from "../harness/campaign.ts";
import type { PostgresProcesses } from "../harness/postgres-processes.ts";
import type { ReportProblem } from "../harness/problems.ts";
import type { Arrival } from "../harness/receiver.ts";
import { type Interval, type ServiceFleet, type ServiceProcess, stopInTime } from "../harness/service-fleet.ts";

/**
 * The kinds of faults:
 *
 * - `kill` and `end` send SIGKILL or SIGTERM to a process, which is then replaced
 * - `sleep` is SIGSTOP for some seconds
 * - `cut` is the same, but also ends the process's database connections: another process takes over, and the sleeper wakes up as
 *   a former owner. Every other time it wakes while its successor makes the same attempts
 * - `overslept` is SIGSTOP for longer than a lease lasts
 * - `postgres` kills all of PostgreSQL, `backend` one of its connections, `restart` stops it normally; it starts again by itself
 */
export const FAULTS = ["kill", "end", "sleep", "cut", "overslept", "postgres", "backend", "restart"] as const;
export type Fault = (typeof FAULTS)[number];

const FAULT_SHARES: Record<Fault, number> = {
  kill: 34,
  end: 8,
  sleep: 12,
  cut: 22,
  overslept: 2,
  postgres: 10,
  backend: 6,
  restart: 6,
};

/** The most common fault fills up the rest. */
export const drawFaults = (seed: number, count: number): Fault[] => drawByShare(seed, count, FAULT_SHARES, "kill");

/** The database role of process number n. */
export const roleOf = (number: number) => `process_${number}`;

export interface FaultOptions {
  seed: number;
  faults: readonly Fault[];
  fleet: ServiceFleet;
  postgres: PostgresProcesses;
  db: Database;
  journal: readonly Arrival[];
  /** Called before each fault with the completed share of the run. */
  onStep(share: number): void;
  /** Whether no event can be sent now. */
  isIdle(): Promise<boolean>;
  broken: ReportProblem;
  print(line: string): void;
}

export interface InjectedFaults {
  /** Periods in which the database was down, or some of its connections were cut. */
  outages: Interval[];
}

const PAUSE_MS = [300, 1_200] as const;
const SLEEP_MS = [1_500, 6_000] as const;
/** The delay after which others have taken a sleeper's leases: they read its due events and send them. */
const LEASES_TAKEN_MS = [0, 80] as const;
/** A lease lasts a minute. */
const LEASE_EXPIRED_MS = 66_000;
const RECOVERY_MS_MAX = 45_000;
/** So many requests of awake processes show that work continues. */
const RECOVERY_ARRIVALS = 5;

const TERMINATE_BACKENDS = prepared(
  "faults_cut",
  "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1",
);

const EPOCHS = prepared("faults_epochs", "select sum(epoch)::text as epochs from bucket_leases");
const epochs = async (db: Database) => (await db.run<{ epochs: string }>(EPOCHS)).rows[0]!.epochs;

/** Injects all faults in turn, each when work has continued after the previous one. */
export async function injectFaults(options: FaultOptions): Promise<InjectedFaults> {
  const { seed, faults, fleet, journal, print } = options;
  const outages: InjectedFaults["outages"] = [];
  const began = Date.now();
  for (const [index, fault] of faults.entries()) {
    const draw = (what: string) => keyedRandom(seed, what, index);
    options.onStep(index / faults.length);
    await sleep(integerBetween(draw("pause"), ...PAUSE_MS));
    const running = fleet.running();
    const process = running[Math.floor(draw("who") * running.length)]!;
    const at = Date.now();
    const what = await injectFault(fault, process, draw, { ...options, outages });
    const seen = journal.length;
    for (const deadline = Date.now() + RECOVERY_MS_MAX; journal.length < seen + RECOVERY_ARRIVALS; await sleep(20)) {
      // A fault can outlast the events that were left to send.
      if (await options.isIdle()) break;
      if (Date.now() < deadline) continue;
      options.broken("I12", `nothing was sent for ${RECOVERY_MS_MAX} ms after ${what}`);
      break;
    }
    const seconds = ((at - began) / 1_000).toFixed(1).padStart(6);
    print(`${seconds} s  ${what}; on after ${Date.now() - at} ms, ${journal.length} requests so far`);
  }
  options.onStep(1);
  return { outages };
}

interface Tools extends Pick<FaultOptions, "fleet" | "postgres" | "db" | "broken"> {
  outages: InjectedFaults["outages"];
}

async function injectFault(
  fault: Fault,
  target: ServiceProcess,
  draw: (what: string) => number,
  tools: Tools,
): Promise<string> {
  const { fleet, postgres, db, outages, broken } = tools;
  const who = `process ${target.number}`;
  if (fault === "kill" || fault === "end") {
    await (fault === "kill" ? target.kill() : stopInTime(target, broken));
    await fleet.start();
    return `${fault === "kill" ? "SIGKILL" : "SIGTERM"} to ${who}`;
  }
  if (fault === "sleep" || fault === "cut" || fault === "overslept") {
    const untilTaken = fault === "cut" && draw("taken") < 0.5;
    const [least, most] = untilTaken ? LEASES_TAKEN_MS : SLEEP_MS;
    const ms = fault === "overslept" ? LEASE_EXPIRED_MS : integerBetween(draw("ms"), least, most);
    const cut = async () => {
      const before = await epochs(db);
      await db.run(TERMINATE_BACKENDS, [roleOf(target.number)]);
      const deadline = Date.now() + SLEEP_MS[1];
      while (untilTaken && (await epochs(db)) === before && Date.now() < deadline) await sleep(5);
    };
    await target.sleep(ms, fault === "cut" ? cut : undefined);
    const words = untilTaken ? ` until ${ms} ms after others took its work` : ` for ${ms} ms`;
    return `SIGSTOP to ${who}${words}${fault === "cut" ? ", its connections cut" : ""}`;
  }
  const outage = { from: Date.now(), to: Number.POSITIVE_INFINITY };
  outages.push(outage);
  if (fault === "restart") process.kill(postgres.postmaster()!, "SIGINT");
  else (fault === "postgres" ? postgres.aim(draw("all") < 0.5) : postgres.aimAtBackend(draw("backend"))).fire();
  await waitUntilAnswering(db);
  outage.to = Date.now();
  return { postgres: "SIGKILL to PostgreSQL", backend: "SIGKILL to a connection", restart: "restart of PostgreSQL" }[
    fault
  ];
}

const PING = prepared("faults_ping", "select 1");

async function waitUntilAnswering(db: Database) {
  // A server that is shutting down still answers briefly.
  await sleep(200);
  for (const deadline = Date.now() + RECOVERY_MS_MAX; Date.now() < deadline; await sleep(50)) {
    const isUp = await db.run(PING).then(
      () => true,
      () => false,
    );
    if (isUp) return;
  }
}
