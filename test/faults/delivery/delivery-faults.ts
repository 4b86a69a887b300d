import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import { type Database, prepared } from "../../../src/postgres/database.ts";
import type { PostgresProcesses } from "../process/postgres-processes.ts";
import type { DeliveryFleet, ProcessLife } from "./delivery-fleet.ts";
import type { Arrival } from "./event-receiver.ts";

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

/** Returns `count` faults, each kind by its share, in an order that the seed decides. */
export function drawFaults(seed: number, count: number): Fault[] {
  const total = FAULTS.reduce((sum, fault) => sum + FAULT_SHARES[fault], 0);
  const all = FAULTS.flatMap((fault) => Array<Fault>(Math.round((FAULT_SHARES[fault] * count) / total)).fill(fault));
  // The most common fault fills up the rest lost by rounding.
  while (all.length < count) all.push("kill");
  return all
    .slice(0, count)
    .map((fault, index) => ({ fault, at: keyedRandom(seed, "order", index) }))
    .sort((a, b) => a.at - b.at)
    .map(({ fault }) => fault);
}

export interface FaultOptions {
  seed: number;
  faults: readonly Fault[];
  fleet: DeliveryFleet;
  postgres: PostgresProcesses;
  db: Database;
  journal: readonly Arrival[];
  /** Called before each fault with the completed share of the run. */
  onStep(share: number): void;
  /** Whether no event can be sent now. */
  isIdle(): Promise<boolean>;
  broken(invariant: string, says: string): void;
  print(line: string): void;
}

export interface InjectedFaults {
  /** Periods in which the database was down, or some of its connections were cut. */
  outages: { from: number; to: number }[];
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
  const { seed, faults, fleet, postgres, db, journal, print } = options;
  const outages: InjectedFaults["outages"] = [];
  const began = Date.now();
  for (const [index, fault] of faults.entries()) {
    const draw = (what: string) => keyedRandom(seed, what, index);
    options.onStep(index / faults.length);
    await sleep(integerBetween(draw("pause"), ...PAUSE_MS));
    const running = fleet.running();
    const life = running[Math.floor(draw("who") * running.length)]!;
    const at = Date.now();
    const what = await injectFault(fault, life, draw, { fleet, postgres, db, outages });
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

interface Tools extends Pick<FaultOptions, "fleet" | "postgres" | "db"> {
  outages: InjectedFaults["outages"];
}

async function injectFault(
  fault: Fault,
  life: ProcessLife,
  draw: (what: string) => number,
  tools: Tools,
): Promise<string> {
  const { fleet, postgres, db, outages } = tools;
  const who = `process ${life.number}`;
  if (fault === "kill" || fault === "end") {
    await (fault === "kill" ? fleet.kill(life) : fleet.terminate(life));
    await fleet.start();
    return `${fault === "kill" ? "SIGKILL" : "SIGTERM"} to ${who}`;
  }
  if (fault === "sleep" || fault === "cut" || fault === "overslept") {
    const untilTaken = fault === "cut" && draw("taken") < 0.5;
    const [least, most] = untilTaken ? LEASES_TAKEN_MS : SLEEP_MS;
    const ms = fault === "overslept" ? LEASE_EXPIRED_MS : integerBetween(draw("ms"), least, most);
    const cut = async () => {
      const before = await epochs(db);
      await db.run(TERMINATE_BACKENDS, [life.role]);
      const deadline = Date.now() + SLEEP_MS[1];
      while (untilTaken && (await epochs(db)) === before && Date.now() < deadline) await sleep(5);
    };
    await fleet.sleep(life, ms, fault === "cut" ? cut : undefined);
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
