import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseTunnel } from "../../database-tunnel.ts";
import { findFreePort } from "../../free-port.ts";
import type { ReportProblem } from "../harness/problems.ts";
import {
  createEnvironment,
  createServiceFleet,
  type Environment,
  type LoggedLine,
  type ServiceProcess,
} from "../harness/service-fleet.ts";

const CLOCK_PRELOAD = join(import.meta.dirname, "clock-step.ts");
/** As a systemd unit that restarts on failure. */
const RESTART_MS = 1_000;
const SCRAPE_MS = 2_500;
const OUTDATED_SCHEMA_EXIT = 78;

/** One machine: its process of the service, which a supervisor restarts when it ends, and its way to the database. */
export interface Worker {
  number: number;
  baseUrl: string;
  environment: Environment;
  tunnel: DatabaseTunnel;
  lines: readonly LoggedLine[];
  /** The present process. */
  process(): ServiceProcess;
  /** Sets the way in which it may end from now on without counting as a fault. */
  expect(end: "any" | "nothing"): void;
  stepClock(ms: number): void;
  /** Returns its metrics by name and labels; null while it does not answer. */
  scrape(): Promise<Map<string, number> | null>;
  abandon(): void;
}

export interface WorkerOptions {
  number: number;
  tunnel: DatabaseTunnel;
  dataDir: string;
  settings: Environment;
  /** The folder of the program that is started next. */
  program(): string;
  broken: ReportProblem;
}

export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { number, tunnel, dataDir, settings, program, broken } = options;
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
  let isOver = false;
  let expected: "any" | "nothing" = "nothing";
  const fleet = createServiceFleet({
    environment: () => ({ ...environment, TORTURE_CLOCK: clockFile }),
    program,
    preloads: [CLOCK_PRELOAD],
    onEnd(_process, how, code) {
      if (isOver) return;
      if (expected === "nothing" && code !== OUTDATED_SCHEMA_EXIT)
        broken("stops by accident", `machine ${number}: ${how}`);
      setTimeout(fleet.launch, RESTART_MS);
    },
  });
  fleet.launch();
  return {
    number,
    baseUrl,
    environment,
    tunnel,
    lines: fleet.lines,
    process: () => fleet.processes.at(-1)!,
    expect(end) {
      expected = end;
    },
    stepClock: (ms) => writeFileSync(clockFile, String(ms)),
    scrape: () => scrape(metricsPort),
    abandon() {
      isOver = true;
      fleet.abandon();
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
    if (workers.every((worker) => worker.process().isReady())) return true;
  return false;
}
