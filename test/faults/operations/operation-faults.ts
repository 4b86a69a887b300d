import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween } from "../../../simulator/world/keyed-random.ts";
import { drawFaults as drawByShare } from "../harness/campaign.ts";
import type { Receiver } from "../harness/receiver.ts";
import type { ExpectedEvidence } from "./fault-evidence.ts";
import type { PostgresServer } from "./postgres-server.ts";
import { type Worker, waitUntilReady } from "./service-worker.ts";

/** Each kind with its share of a campaign. */
const FAULT_SHARES = {
  "database away at the start": 10,
  "database away": 16,
  "database away for five minutes": 1,
  "database restarted": 16,
  "database killed": 12,
  "database fails over": 12,
  "database slow": 12,
  "process killed": 24,
  "process frozen": 20,
  "no descriptors": 12,
  "no memory": 8,
  "disk full": 10,
  "clock stepped": 24,
  "network cut": 20,
  "two versions": 3,
} as const;
export type Fault = keyof typeof FAULT_SHARES;
export const FAULTS = Object.keys(FAULT_SHARES) as Fault[];

export const drawFaults = (seed: number, count: number): Fault[] =>
  drawByShare(seed, count, FAULT_SHARES, "process killed");

/** A fault with its begin, its end, and the signs by which an operator sees it. */
export interface FaultInjection {
  /** In words, with the sampled sizes. */
  says: string;
  evidence: ExpectedEvidence;
  /** The affected worker; without it all of them. */
  victim?: Worker;
  /** Resolves when the fault is over. */
  make(): Promise<void>;
}

export interface Tools {
  server: PostgresServer;
  workers: readonly Worker[];
  receiver: Receiver;
  /** Makes a newer version of the program, whose schema has one migration more. Returns its version. */
  newVersion(): string;
}

const READY_MS = 60_000;
const ALL_WARNINGS = /./;

/** @param draw  returns a number from 0 to 1 for each name */
export function prepareFault(fault: Fault, draw: (what: string) => number, tools: Tools): FaultInjection {
  const { server, workers } = tools;
  const victim = workers[Math.floor(draw("who") * workers.length)]!;
  const who = `process ${victim.number}`;
  const seconds = (least: number, most: number) => integerBetween(draw("seconds"), least, most);
  const troubled: ExpectedEvidence = { log: ALL_WARNINGS, warns: ALL_WARNINGS, doctor: { troubles: ALL_WARNINGS } };
  const away = async (s: number) => {
    await server.stop();
    await sleep(s * 1_000);
    await server.start();
  };
  switch (fault) {
    case "database away at the start":
      return {
        says: `${fault} of ${who} for ${seconds(5, 20)} s`,
        victim,
        evidence: { log: /database\.unreachable/, metric: "no answer", doctor: { says: /fail +database/ } },
        async make() {
          victim.expect("any");
          await server.stop();
          victim.process().signal("SIGKILL");
          await isLogged(victim, /database\.unreachable/);
          await sleep(seconds(5, 20) * 1_000);
          await server.start();
          await waitUntilReady(workers, READY_MS);
        },
      };
    case "database away":
    case "database away for five minutes": {
      const s = fault === "database away" ? seconds(2, 25) : 300;
      return { says: `${fault}: ${s} s`, evidence: troubled, make: () => away(s) };
    }
    case "database restarted":
      return { says: fault, evidence: troubled, make: () => away(0) };
    case "database killed":
      return {
        says: fault,
        evidence: troubled,
        make: server.crash,
      };
    case "database fails over":
      return {
        says: `${fault} in ${seconds(2, 15)} s`,
        evidence: troubled,
        make: () => server.failOver(seconds(2, 15) * 1_000),
      };
    case "database slow":
      return {
        says: `${fault}: ${integerBetween(draw("ms"), 60, 200)} ms for 30 s`,
        evidence: {
          log: /database\.slow/,
          metric: (samples) => samples.get("dunlin_database_answer_seconds")! > 0.1,
          doctor: { troubles: /database\.slow/ },
        },
        async make() {
          for (const { tunnel } of workers) tunnel.delay(integerBetween(draw("ms"), 60, 200));
          await sleep(30_000);
          for (const { tunnel } of workers) tunnel.delay(0);
        },
      };
    case "process killed":
      return {
        says: `${fault}: ${who}`,
        victim,
        evidence: silenceEvidence(victim),
        make: () => killWorker(victim, workers),
      };
    case "process frozen":
      return {
        says: `${fault}: ${who} for ${seconds(10, 40)} s`,
        victim,
        evidence: {
          log: /process\.(stalled|silent)/,
          warns: /process\.(stalled|silent)/,
          doctor: { troubles: /process\.(stalled|silent)/ },
        },
        async make() {
          await victim.process().sleep(seconds(10, 40) * 1_000);
        },
      };
    case "no descriptors":
      return {
        says: `${fault}: ${who} for ${seconds(8, 20)} s`,
        victim,
        evidence: {
          log: /deliveries\.held|process\.exhausted|failed/,
          warns: /deliveries\.held|process\.exhausted|failed/,
          doctor: { troubles: ALL_WARNINGS },
        },
        async make() {
          // With a lower limit, the first files that a process opens would fail permanently.
          limitTo(victim, "nofile", "16", "20000");
          tools.receiver.cutConnections();
          await sleep(seconds(8, 20) * 1_000);
          limitTo(victim, "nofile", "20000", "20000");
        },
      };
    case "no memory":
      return {
        says: `${fault}: ${who}`,
        victim,
        evidence: silenceEvidence(victim),
        async make() {
          victim.expect("any");
          const pid = victim.process().pid;
          limitTo(victim, "as", "1", "unlimited");
          for (let looks = 0; looks < 100 && victim.process().pid === pid && victim.process().isReady(); looks++)
            await sleep(100);
          // If it requests no more memory, the system kills it for the sake of other processes.
          if (victim.process().pid === pid) victim.process().signal("SIGKILL");
          await sleep(500);
          await waitUntilReady(workers, READY_MS);
        },
      };
    case "disk full":
      return {
        says: `${fault} for ${seconds(5, 20)} s`,
        evidence: troubled,
        async make() {
          server.fillDisk();
          await sleep(seconds(5, 20) * 1_000);
          await server.freeDisk();
        },
      };
    case "clock stepped": {
      const minutes = integerBetween(draw("minutes"), 1, 300) * (draw("back") < 0.5 ? -1 : 1);
      return {
        says: `${fault}: ${who} by ${minutes} minutes for ${seconds(5, 15)} s`,
        victim,
        evidence: {
          log: /clock\.jumped/,
          metric: (samples, before) =>
            samples.get("dunlin_clock_jumps_total")! > (before.get("dunlin_clock_jumps_total") ?? 0),
          doctor: { troubles: /clock\.(jumped|set)/ },
        },
        async make() {
          victim.stepClock(minutes * 60_000);
          await sleep(seconds(5, 15) * 1_000);
          victim.stepClock(0);
        },
      };
    }
    case "network cut":
      return {
        says: `${fault}: between the database and ${who} for ${seconds(25, 50)} s`,
        victim,
        evidence: silenceEvidence(victim),
        async make() {
          victim.tunnel.hold();
          await sleep(seconds(25, 50) * 1_000);
          victim.tunnel.release();
        },
      };
    case "two versions": {
      const version = tools.newVersion();
      return {
        says: `${fault}: ${version} beside the one before`,
        evidence: {
          log: /service\.outdated/,
          metric: (samples) => [...samples.keys()].some((key) => key.includes(`"${version}"`)),
          doctor: { says: new RegExp(RegExp.escape(version)) },
        },
        async make() {
          // The supervisor restarts each ended process from the newest version.
          victim.expect("any");
          victim.process().signal("SIGTERM");
          await sleep(12_000);
          await waitUntilReady(workers, READY_MS);
        },
      };
    }
  }
}

async function killWorker(victim: Worker, workers: readonly Worker[]) {
  victim.expect("any");
  victim.process().signal("SIGKILL");
  await sleep(500);
  await waitUntilReady(workers, READY_MS);
}

/** A silent process is reported by the others. */
const silenceEvidence = (victim: Worker): ExpectedEvidence => {
  const pid = victim.process().pid;
  return {
    log: new RegExp(`process\\.silent.*\\b${pid}\\b|\\b${pid}\\b.*process\\.silent`),
    warns: /process\.silent/,
    doctor: { says: new RegExp(`/${pid} .*was last seen`) },
  };
};

function limitTo(worker: Worker, what: "nofile" | "as", soft: string, hard: string) {
  spawnSync("prlimit", ["--pid", String(worker.process().pid), `--${what}=${soft}:${hard}`]);
}

/** Waits until a process has logged such a line. On a busy machine, its start takes seconds. */
async function isLogged({ lines }: Worker, line: RegExp) {
  const from = Date.now();
  while (Date.now() < from + READY_MS && !lines.some(({ at, text }) => at >= from && line.test(text))) await sleep(100);
}
