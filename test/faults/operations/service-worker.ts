import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseTunnel } from "../../database-tunnel.ts";
import { findFreePort } from "../../free-port.ts";
import { createEnvironment, type Environment } from "../process/service-process.ts";

const PRELOAD = join(import.meta.dirname, "clock-step.ts");
/** As a systemd unit that restarts on failure. */
const RESTART_MS = 1_000;
const SCRAPE_MS = 2_500;
const OUTDATED_SCHEMA_EXIT = 78;

/** A log line at level warn or above; `at` is real time. */
export interface LoggedLine {
  at: number;
  pid: number;
  name: string;
  text: string;
}

/** A process of the service, which a supervisor restarts when it ends. */
export interface Worker {
  number: number;
  baseUrl: string;
  environment: Environment;
  tunnel: DatabaseTunnel;
  lines: LoggedLine[];
  pid(): number;
  /** Whether the present process has reported that it is ready. */
  isReady(): boolean;
  /** Sets the way in which it may end from now on without counting as a fault. */
  expect(end: "any" | "nothing"): void;
  stepClock(ms: number): void;
  /** Returns its metrics by name and labels; null while it does not answer. */
  scrape(): Promise<Map<string, number> | null>;
  /** Sends a signal to the present process. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it for good. Returns the exit code and the duration. */
  end(): Promise<{ code: number | null; ms: number }>;
  abandon(): void;
}

export interface WorkerOptions {
  number: number;
  tunnel: DatabaseTunnel;
  dataDir: string;
  settings: Environment;
  /** The folder of the program that is started next. */
  program(): string;
  broken(invariant: string, says: string): void;
}

export async function startWorker({
  number,
  tunnel,
  dataDir,
  settings,
  program,
  broken,
}: WorkerOptions): Promise<Worker> {
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const baseUrl = `https://localhost:${port}`;
  const clockFile = join(dataDir, `clock-${number}`);
  writeFileSync(clockFile, "0");
  const environment = createEnvironment({
    ...settings,
    DATABASE_URL: tunnel.url,
    DUNLIN_DATA: dataDir,
    DUNLIN_PORT: String(port),
    DUNLIN_BASE_URL: baseUrl,
    DUNLIN_METRICS_PORT: String(metricsPort),
  });
  const lines: LoggedLine[] = [];
  let child: ChildProcess;
  let isReady = false;
  let isOver = false;
  let expected: "any" | "nothing" = "nothing";

  function launch() {
    isReady = false;
    const words = [join(program(), "bin", "dunlin.js"), "serve"];
    const env = { ...environment, TORTURE_CLOCK: clockFile, NODE_OPTIONS: `--import=${PRELOAD}` };
    const started = spawn(process.execPath, words, { env, stdio: ["ignore", "pipe", "pipe"] });
    child = started;
    createInterface({ input: started.stdout! }).on("line", (line) => {
      if (line.startsWith("dunlin is ready")) isReady = true;
    });
    createInterface({ input: started.stderr! }).on("line", (line) => read(started.pid!, line));
    started.once("close", (code, signal) => {
      isReady = false;
      if (isOver) return;
      if (expected === "nothing" && code !== OUTDATED_SCHEMA_EXIT)
        broken("stops by accident", `process ${number} ended by itself with ${code ?? signal}: ${lines.at(-1)?.text}`);
      setTimeout(launch, RESTART_MS);
    });
  }

  function read(pid: number, line: string) {
    try {
      const { level, msg } = JSON.parse(line) as { level: string; msg: string };
      if (/warn|error|fatal/.test(level)) lines.push({ at: Date.now(), pid, name: msg, text: line.slice(0, 500) });
    } catch {
      lines.push({ at: Date.now(), pid, name: "crash", text: line });
    }
  }

  launch();
  return {
    number,
    baseUrl,
    environment,
    tunnel,
    lines,
    pid: () => child.pid!,
    isReady: () => isReady,
    expect(end) {
      expected = end;
    },
    stepClock: (ms) => writeFileSync(clockFile, String(ms)),
    scrape: () => scrape(metricsPort),
    signal: (signal) => void child.kill(signal),
    async end() {
      isOver = true;
      const began = Date.now();
      const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
      const exit = child.exitCode === null && child.signalCode === null ? once(child, "exit") : null;
      child.kill("SIGTERM");
      await exit;
      clearTimeout(late);
      return { code: child.exitCode, ms: Date.now() - began };
    },
    abandon() {
      isOver = true;
      child.kill("SIGKILL");
    },
  };
}

function scrape(port: number): Promise<Map<string, number> | null> {
  return new Promise((resolve) => {
    const asked = get({ host: "localhost", port, path: "/metrics", agent: false, timeout: SCRAPE_MS }, (reply) => {
      let text = "";
      reply.on("data", (chunk) => {
        text += chunk;
      });
      reply.on("error", () => resolve(null));
      reply.on("end", () => resolve(reply.statusCode === 200 ? parseSamples(text) : null));
    });
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(null));
    asked.on("close", () => resolve(null));
  });
}

function parseSamples(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, name, value] = /^(dunlin_\S+|process_\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined) samples.set(name, Number(value));
  }
  return samples;
}

/** Resolves when all of them are ready, or with false after the limit. */
export async function waitUntilReady(workers: readonly Worker[], limitMs: number): Promise<boolean> {
  for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(50))
    if (workers.every((worker) => worker.isReady())) return true;
  return false;
}
