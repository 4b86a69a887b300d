import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import { shuffleFaults } from "../harness/campaign.ts";
import type { ServiceFleet } from "../harness/service-fleet.ts";
import type { CampaignDatabase } from "./campaign-database.ts";

export type Fault = "service" | "postgres" | "backend" | "stop" | "both";
/** The fault comes right after this event, in the same turn of the event loop, when an invariant is easiest to break. */
export type Trigger =
  | "at any moment"
  | "on an acknowledgement"
  | "in a large batch"
  | "on a webhook"
  | "on a webhook's 200";
const TRIGGERS = [
  ["at any moment", 1],
  ["on an acknowledgement", 1],
  ["in a large batch", 1.5],
  ["on a webhook", 1],
  ["on a webhook's 200", 1],
] as const;
/** If the event does not happen, the fault comes anyway. */
const TRIGGER_MS = 2_000;
/** A large batch is in flight, or being stored, for about so long. */
const BATCH_TRIGGER_MS = 30;
const RECOVERY_MS_MAX = 45_000;

/** Events that a fault can wait for. */
export interface FaultMoments {
  happened(trigger: Trigger): void;
  next(trigger: Trigger): Promise<void>;
}

export function createFaultTriggers(): FaultMoments {
  const waiting = new Map<Trigger, () => void>();
  return {
    happened(trigger) {
      waiting.get(trigger)?.();
      waiting.delete(trigger);
    },
    next: (trigger) => new Promise((resolve) => waiting.set(trigger, resolve)),
  };
}

/** Returns `kills` faults each for the service and PostgreSQL, and fewer of the others, in an order that the seed decides. */
function drawFaults(seed: number, kills: number): Fault[] {
  const few = kills < 4 ? 0 : Math.ceil(kills / 4);
  const all = [
    ...Array<Fault>(kills).fill("service"),
    ...Array<Fault>(kills).fill("postgres"),
    ...Array<Fault>(few).fill("backend"),
    ...Array<Fault>(few).fill("stop"),
    ...Array<Fault>(few).fill("both"),
  ];
  return shuffleFaults(seed, all);
}

export interface FaultOptions {
  seed: number;
  kills: number;
  /** Real time by which the last fault should be over. */
  until: number;
  /** One process at a time. */
  fleet: ServiceFleet;
  database: CampaignDatabase;
  moments: FaultMoments;
  print(line: string): void;
  onBroken(problem: string): void;
}

/** Injects all faults in turn, each when the service has recovered from the previous one. */
export async function injectFaults(options: FaultOptions): Promise<Fault[]> {
  const { seed, moments, print } = options;
  const faults = drawFaults(seed, options.kills);
  const began = Date.now();
  for (const [index, fault] of faults.entries()) {
    const draw = (what: string) => keyedRandom(seed, what, index);
    const share = Math.max(0, options.until - Date.now()) / (faults.length - index);
    await sleep(share * (0.3 + 0.5 * draw("pause")));
    if (options.fleet.running().length === 0) await options.fleet.start();
    const trigger = pickWeighted(draw("trigger"), TRIGGERS);
    const make = prepareFault(fault, draw, options);
    if (trigger !== "at any moment")
      await Promise.race([moments.next(trigger), sleep(TRIGGER_MS, undefined, { ref: false })]);
    if (trigger === "in a large batch") await sleep(BATCH_TRIGGER_MS * draw("batch"));
    const at = Date.now();
    const what = await make();
    // Answers sent before the fault can still arrive.
    await sleep(100);
    const back = await Promise.race([
      moments.next("on an acknowledgement").then(() => true),
      sleep(RECOVERY_MS_MAX, false, { ref: false }),
    ]);
    const seconds = ((at - began) / 1000).toFixed(1).padStart(6);
    print(`${seconds} s  ${what} ${trigger}; ${back ? `back after ${Date.now() - at} ms` : "not back"}`);
    if (!back) options.onBroken(`no acknowledgement within ${RECOVERY_MS_MAX} ms after ${what}`);
  }
  return faults;
}

/** Does all slow preparation in advance. */
function prepareFault(fault: Fault, draw: (what: string) => number, { fleet, database }: FaultOptions) {
  const all = draw("all") < 0.5;
  const again = async () => {
    const service = fleet.processes.at(-1)!;
    await service.kill();
    await fleet.start();
    return `kill -9 of the service (${service.pid})`;
  };
  if (fault === "service") return again;
  if (fault === "stop")
    return async () => {
      const ms = integerBetween(draw("stop"), 2_000, 7_000);
      await fleet.processes.at(-1)!.sleep(ms);
      return `SIGSTOP of the service for ${ms} ms`;
    };
  const { pids, fire } = fault === "backend" ? database.aimAtBackend(draw("backend")) : database.aim(all);
  const who = all ? `all ${pids.length} processes of PostgreSQL (${pids[0]})` : `the postmaster (${pids[0]})`;
  return async () => {
    fire();
    if (fault === "backend") return `kill -9 of a PostgreSQL backend (${pids[0]})`;
    return fault === "both" ? `${await again()} and ${who}` : `kill -9 of ${who}`;
  };
}
