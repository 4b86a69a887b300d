import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { ReportProblem } from "./problems.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** A preload that lets the receiver know which process sent a request. */
export const SOURCE_PRELOAD = join(import.meta.dirname, "source-address.ts");
/** A start may have to wait for recovery after a killed PostgreSQL. */
const READY_MS = 60_000;
/** An attempt can take 30 s, and SIGTERM to exit 35 s. */
const TERMINATE_MS_MAX = 35_000;

/** Real time in milliseconds. */
export interface Interval {
  from: number;
  to: number;
}

/** One process of the service, from its start to its end; times are real time. */
export interface ServiceProcess {
  /** Its place among the processes of its fleet. */
  number: number;
  pid: number;
  startedAt: number;
  endedAt: number | null;
  end: "running" | "killed" | "stopped" | "by itself";
  /** Periods in which it was stopped by SIGSTOP. */
  sleeps: Interval[];
  isReady(): boolean;
  /** Rejects if it ends before, or is not ready in time. */
  ready: Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<void>;
  /** Sends SIGTERM and waits for the end. */
  terminate(): Promise<StoppedProcess>;
  /** Sends SIGSTOP for a while, and runs `meanwhile` at once. */
  sleep(ms: number, meanwhile?: () => Promise<void>): Promise<void>;
}

/** How a process ended after SIGTERM: its exit code or signal, and the milliseconds that it took. */
export interface StoppedProcess {
  code: number | string;
  ms: number;
}

/** A log line at level warn or above, or a line of a crash, which is no JSON; `at` is real time. */
export interface LoggedLine {
  at: number;
  pid: number;
  level: string;
  name: string;
  text: string;
}

/** Processes of the service that start and end one after the other or side by side. */
export interface ServiceFleet {
  /** All of them by number. */
  processes: ServiceProcess[];
  lines: LoggedLine[];
  running(): ServiceProcess[];
  /** Starts a process, and does not wait for it. */
  launch(): ServiceProcess;
  /** Starts a process; resolves when it is ready. */
  start(): Promise<ServiceProcess>;
  /** Ends all processes at once, for the exit of this process. */
  abandon(): void;
}

export type Environment = Record<string, string>;

export interface FleetOptions {
  /** Returns the environment of process number n. */
  environment(number: number): Environment;
  /** Arguments of the program. */
  words?: readonly string[];
  /** The first words of the line that says that it is ready. */
  readyLine?: string;
  /** Returns the folder of the program that is started next. */
  program?(): string;
  /** Loaded before the program's own code. */
  preloads?: readonly string[];
  /** Called if a process ended unexpectedly, with its exit code or signal. */
  onEnd(process: ServiceProcess, how: string, code: number | string): void;
}

/** Creates the environment of child processes, without variables of ours that the service would read. */
export function createEnvironment(settings: Environment): Environment {
  const own = Object.entries(process.env).filter(([name]) => !/^(DUNLIN_|DATABASE_URL$|NODE_)/.test(name));
  return { ...Object.fromEntries(own as [string, string][]), ...settings };
}

/** Returns the loopback address that process number n connects from. */
const sourceAddressOf = (number: number) => `127.0.${1 + (number >> 7)}.${1 + (number & 127)}`;

/** Returns the number of the process that connects from this address; -1 for any other client. */
export function processNumberOf(address: string | undefined): number {
  const [, high, low] = /^(?:::ffff:)?127\.0\.(\d+)\.(\d+)$/.exec(address ?? "") ?? [];
  return high === undefined || high === "0" ? -1 : (Number(high) - 1) * 128 + Number(low) - 1;
}

export function createServiceFleet(options: FleetOptions): ServiceFleet {
  const { words = ["serve"], readyLine = "dunlin is ready", program = () => ROOT, preloads = [] } = options;
  const processes: ServiceProcess[] = [];
  const lines: LoggedLine[] = [];

  function launch() {
    const number = processes.length;
    const env = {
      ...options.environment(number),
      TORTURE_SOURCE: sourceAddressOf(number),
      ...(preloads.length > 0 && { NODE_OPTIONS: preloads.map((file) => `--import=${file}`).join(" ") }),
    };
    const started = spawn(process.execPath, [join(program(), "bin", "dunlin.js"), ...words], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const service = createServiceProcess(number, started, readyLine, (code) => {
      const last = lines.findLast(({ pid }) => pid === started.pid);
      options.onEnd(service, `process ${number} ended by itself with ${code}: ${last?.text ?? "no log"}`, code);
    });
    processes.push(service);
    createInterface({ input: started.stderr! }).on("line", (text) => {
      const line = parseLogLine(text);
      if (line !== null) lines.push({ at: Date.now(), pid: service.pid, ...line });
    });
    return service;
  }

  return {
    processes,
    lines,
    running: () => processes.filter(({ end }) => end === "running"),
    launch,
    async start() {
      const service = launch();
      await service.ready;
      return service;
    },
    abandon() {
      for (const service of processes) {
        if (service.end !== "running") continue;
        service.end = "killed";
        service.signal("SIGKILL");
      }
    },
  };
}

const LINE_CHARS_MAX = 500;

/** Returns null for a line below level warn. */
function parseLogLine(text: string): Pick<LoggedLine, "level" | "name" | "text"> | null {
  try {
    const { level, msg } = JSON.parse(text) as { level: string; msg: string };
    return /warn|error|fatal/.test(level) ? { level, name: msg, text: text.slice(0, LINE_CHARS_MAX) } : null;
  } catch {
    return { level: "crash", name: "crash", text };
  }
}

function createServiceProcess(
  number: number,
  child: ChildProcess,
  readyLine: string,
  onEnd: (code: number | string) => void,
): ServiceProcess {
  let isReady = false;
  const exit = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  // Who does not wait for it gets no error.
  ready.catch(() => {});
  const late = setTimeout(() => reject(new Error(`process ${number} was not ready in ${READY_MS} ms`)), READY_MS);
  createInterface({ input: child.stdout! }).on("line", (line) => {
    if (!line.startsWith(readyLine)) return;
    isReady = true;
    resolve();
  });
  void ready.catch(() => {}).finally(() => clearTimeout(late));
  child.once("exit", () => {
    isReady = false;
    service.endedAt = Date.now();
    reject(new Error(`process ${number} ended before it was ready`));
  });
  // "close", not "exit", because its last output has yet to be read.
  child.once("close", (code, signal) => {
    if (service.end !== "running") return;
    service.end = "by itself";
    onEnd(code ?? signal ?? "nothing");
  });

  async function end(signal: NodeJS.Signals, how: ServiceProcess["end"]) {
    if (service.endedAt === null) {
      service.end = how;
      child.kill(signal);
    }
    await exit;
  }

  const service: ServiceProcess = {
    number,
    pid: child.pid!,
    startedAt: Date.now(),
    endedAt: null,
    end: "running",
    sleeps: [],
    isReady: () => isReady,
    ready,
    signal: (signal) => void child.kill(signal),
    kill: () => end("SIGKILL", "killed"),
    async terminate() {
      const began = performance.now();
      const patience = setTimeout(() => child.kill("SIGKILL"), 2 * TERMINATE_MS_MAX);
      await end("SIGTERM", "stopped");
      clearTimeout(patience);
      return {
        code: child.exitCode ?? child.signalCode ?? "nothing",
        ms: Math.round(performance.now() - began),
      };
    },
    async sleep(ms, meanwhile = async () => {}) {
      const from = Date.now();
      child.kill("SIGSTOP");
      try {
        await meanwhile();
        await sleep(ms);
      } finally {
        child.kill("SIGCONT");
        service.sleeps.push({ from, to: Date.now() });
      }
    },
  };
  return service;
}

/** Sends SIGTERM, and reports a process that does not end with code 0 in time. */
export async function stopInTime(service: ServiceProcess, broken: ReportProblem): Promise<void> {
  const { code, ms } = await service.terminate();
  if (code !== 0 || ms > TERMINATE_MS_MAX)
    broken("I12", `after SIGTERM process ${service.number} ended with ${code} in ${ms} ms`);
}

/**
 * Runs a short command of the product.
 *
 * @returns its exit code or signal, its output, and `text` with the errors as well
 */
export async function runDunlin(
  env: Environment,
  words: readonly string[],
  { program = ROOT, limitMs = 60_000 }: { program?: string; limitMs?: number } = {},
) {
  const child = spawn(process.execPath, [join(program, "bin", "dunlin.js"), ...words], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const late = setTimeout(() => child.kill("SIGKILL"), limitMs);
  const texts = { out: "", text: "" };
  child.stdout.on("data", (chunk) => {
    texts.out += chunk;
    texts.text += chunk;
  });
  child.stderr.on("data", (chunk) => {
    texts.text += chunk;
  });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(late);
  return { code: code ?? signal, ...texts };
}

/** Creates a merchant as an operator does, beside the running service. */
export async function createMerchantByCommand(env: Environment, name: string, words: readonly string[]) {
  const { code, out, text } = await runDunlin(env, ["merchant", "create", "--name", name, ...words, "--json"]);
  if (code !== 0) throw new Error(`dunlin merchant create ended with ${code}: ${text}`);
  return JSON.parse(out) as { merchantId: string; apiKey: string };
}
