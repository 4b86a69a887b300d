import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Environment } from "../process/service-process.ts";

const PROGRAM = join(import.meta.dirname, "../../..", "bin", "dunlin.js");
const PRELOAD = join(import.meta.dirname, "source-address.ts");
const READY_MS = 60_000;
/** An attempt can take 30 s, and SIGTERM to exit 35 s. */
const TERMINATE_MS = 35_000;

/** One delivering process from its start to its end; times are real time. */
export interface ProcessLife {
  number: number;
  /** The role of its database connections. */
  role: string;
  child: ChildProcess;
  startedAt: number;
  endedAt: number | null;
  end: "running" | "killed" | "stopped" | "by itself";
  /** When it slept, with or without cut database connections. */
  sleeps: { from: number; to: number }[];
}

export interface DeliveryFleet {
  lives: ProcessLife[];
  running(): ProcessLife[];
  /** Starts a new process; resolves when it is ready. */
  start(): Promise<ProcessLife>;
  kill(life: ProcessLife): Promise<void>;
  /** Sends SIGTERM and waits for the end. */
  terminate(life: ProcessLife): Promise<void>;
  /** Sends SIGSTOP for a while, and runs `meanwhile` at once. */
  sleep(life: ProcessLife, ms: number, meanwhile?: () => Promise<void>): Promise<void>;
  /** How often each line was logged. */
  logged: Map<string, number>;
  /** Ends all processes at once. */
  abandon(): void;
}

export interface FleetOptions {
  /** The environment of process number n, whose database role is `role`. */
  environment(number: number, role: string): Environment;
  onStart(role: string): Promise<void>;
  broken(invariant: string, says: string): void;
}

/** Returns the loopback address that process number n connects from. */
const sourceAddressOf = (number: number) => `127.0.${1 + (number >> 7)}.${1 + (number & 127)}`;

/** Returns the number of the process that connects from this address; -1 for any other client. */
export function processNumberOf(address: string | undefined): number {
  const [, high, low] = /^(?:::ffff:)?127\.0\.(\d+)\.(\d+)$/.exec(address ?? "") ?? [];
  return high === undefined || high === "0" ? -1 : (Number(high) - 1) * 128 + Number(low) - 1;
}

/** Creates the delivering processes, which the faults start and end. */
export function createDeliveryFleet({ environment, onStart, broken }: FleetOptions): DeliveryFleet {
  const lives: ProcessLife[] = [];
  const logged = new Map<string, number>();

  function read(line: string) {
    let name = line;
    try {
      const { level, msg } = JSON.parse(line) as { level?: string; msg?: string };
      name = `${level} ${msg}`;
    } catch {
      // A crash log line is plain text.
    }
    logged.set(name, (logged.get(name) ?? 0) + 1);
  }

  async function start() {
    const number = lives.length;
    const role = `life_${number}`;
    await onStart(role);
    const env = {
      ...environment(number, role),
      TORTURE_SOURCE: sourceAddressOf(number),
      NODE_OPTIONS: `--import=${PRELOAD}`,
    };
    const words = [PROGRAM, "serve", "--roles", "deliver"];
    const child = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "pipe"] });
    const life: ProcessLife = { number, role, child, startedAt: Date.now(), endedAt: null, end: "running", sleeps: [] };
    lives.push(life);
    child.once("exit", (code, signal) => {
      life.endedAt = Date.now();
      if (life.end !== "running") return;
      life.end = "by itself";
      broken("I12", `process ${number} ended by itself with ${code ?? signal}`);
    });
    createInterface({ input: child.stderr! }).on("line", read);
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`process ${number} was not ready in ${READY_MS} ms`)), READY_MS);
      const over = (end: () => void) => {
        clearTimeout(late);
        end();
      };
      createInterface({ input: child.stdout! }).on("line", (line) => {
        if (line.startsWith("dunlin is ready")) over(resolve);
      });
      child.once("exit", () => over(() => reject(new Error(`process ${number} ended before it was ready`))));
    });
    return life;
  }

  async function end(life: ProcessLife, signal: NodeJS.Signals, how: ProcessLife["end"]) {
    if (life.end !== "running") return;
    life.end = how;
    const exit = once(life.child, "exit");
    life.child.kill(signal);
    await exit;
  }

  return {
    lives,
    logged,
    running: () => lives.filter((life) => life.end === "running"),
    start,
    kill: (life) => end(life, "SIGKILL", "killed"),
    async terminate(life) {
      const began = Date.now();
      const late = setTimeout(() => life.child.kill("SIGKILL"), 2 * TERMINATE_MS);
      await end(life, "SIGTERM", "stopped");
      clearTimeout(late);
      const ms = Date.now() - began;
      if (life.child.exitCode !== 0 || ms > TERMINATE_MS)
        broken("I12", `after SIGTERM process ${life.number} ended with ${life.child.exitCode} in ${ms} ms`);
    },
    async sleep(life, ms, meanwhile = async () => {}) {
      const from = Date.now();
      life.child.kill("SIGSTOP");
      try {
        await meanwhile();
        await new Promise((resolve) => setTimeout(resolve, ms));
      } finally {
        life.child.kill("SIGCONT");
        life.sleeps.push({ from, to: Date.now() });
      }
    },
    abandon() {
      for (const life of lives) {
        if (life.end !== "running") continue;
        life.end = "killed";
        life.child.kill("SIGKILL");
      }
    },
  };
}
