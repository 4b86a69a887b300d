import { createServer, type Server } from "node:http";
import { Counter, Gauge, Registry } from "prom-client";
import type { ConnectorStore } from "./store.ts";

/** Figures of a running connector, for Prometheus and for people. */
export interface Health {
  onCall(outcome: "answered" | "refused" | "failed"): void;
  onError(step: string, error: unknown): void;
  setPaused(isPaused: boolean): void;
  registry: Registry;
  page(): Promise<HealthPage>;
}

export interface HealthPage {
  isHealthy: boolean;
  lines: readonly (readonly [name: string, value: string])[];
}

/** A change that waits longer than this shows that something is wrong. */
const LAG_MAX_MS = 10 * 60_000;

export interface HealthOptions {
  store: ConnectorStore;
  /** Such as `stripe, test mode`. */
  name: string;
  now(): Date;
}

export function createHealth({ store, name, now }: HealthOptions): Health {
  const registry = new Registry();
  const registers = [registry];
  const calls = new Counter({
    ...{
      name: "dunlin_connector_calls_total",
      help: "Calls to the billing system",
      labelNames: ["outcome"],
      registers,
    },
  });
  const errors = new Counter({
    ...{ name: "dunlin_connector_errors_total", help: "Failed rounds of a loop", labelNames: ["loop"], registers },
  });
  for (const outcome of ["answered", "refused", "failed"]) calls.inc({ outcome }, 0);
  let isPaused = false;
  let lastError: { step: string; problem: string; at: Date } | null = null;
  const read = async () => {
    const [backlog, last, poll] = await Promise.all([
      store.countBacklog(now()),
      store.readCursor("last-event"),
      store.readCursor("last-poll"),
    ]);
    const lagMs = backlog.oldestAt ? Math.max(0, now().getTime() - backlog.oldestAt.getTime()) : 0;
    return { ...backlog, lagMs, last, poll };
  };
  // One read for all gauges of a scrape.
  let reading: ReturnType<typeof read> | null = null;
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
  const gauge = (gaugeName: string, help: string, value: (state: Awaited<ReturnType<typeof read>>) => number) =>
    new Gauge({
      ...{ name: gaugeName, help, registers },
      async collect() {
        this.set(value(await readOnce()));
      },
    });
  gauge("dunlin_connector_waiting", "Changed objects that are not read yet", ({ waiting }) => waiting);
  gauge("dunlin_connector_failing", "Changed objects whose last read failed", ({ failing }) => failing);
  gauge("dunlin_connector_due_actions", "Recovery actions whose time has come", ({ dueActions }) => dueActions);
  gauge(
    "dunlin_connector_lag_seconds",
    "How long the oldest change has waited, in service time",
    ({ lagMs }) => lagMs / 1_000,
  );
  gauge("dunlin_connector_paused", "1 while a person has paused the connector", () => Number(isPaused));
  return {
    onCall: (outcome) => calls.inc({ outcome }),
    onError(step, error) {
      errors.inc({ loop: step });
      lastError = { step, problem: String(error), at: now() };
    },
    setPaused(paused) {
      isPaused = paused;
    },
    registry,
    async page() {
      const { waiting, failing, dueActions, lagMs, last, poll } = await read();
      const isHealthy = lagMs < LAG_MAX_MS && failing === 0;
      return {
        isHealthy,
        lines: [
          ["Connection", `${name}${isPaused ? ", paused" : ""}`],
          ["State", isHealthy ? "healthy" : "behind, or failing"],
          ["Changes waiting", `${waiting}, the oldest for ${Math.round(lagMs / 1_000)} s`],
          ["Changes failing", String(failing)],
          ["Actions due", String(dueActions)],
          ["Last event", last ?? "none yet"],
          ["Last poll", poll ?? "none yet"],
          ["Last error", lastError ? `${lastError.at.toISOString()} ${lastError.step}: ${lastError.problem}` : "none"],
        ],
      };
    },
  };
}

/** Serves `/metrics`, `/healthz` and a page for people at `/`. */
export function createHealthServer(health: Health): Server {
  return createServer((request, response) => {
    void answer(health, request.url?.split("?", 1)[0] ?? "/").then(
      ([status, type, body]) => response.writeHead(status, { "content-type": type }).end(body),
      (error: Error) => response.writeHead(503, { "content-type": "text/plain" }).end(`${error.message}\n`),
    );
  });
}

async function answer(health: Health, path: string): Promise<[status: number, type: string, body: string]> {
  if (path === "/metrics") return [200, "text/plain; version=0.0.4; charset=utf-8", await health.registry.metrics()];
  if (path !== "/healthz" && path !== "/") return [404, "text/plain", "There is /, /healthz and /metrics.\n"];
  const { isHealthy, lines } = await health.page();
  if (path === "/healthz")
    return [isHealthy ? 200 : 503, "application/json", `${JSON.stringify(Object.fromEntries(lines))}\n`];
  const width = Math.max(...lines.map(([label]) => label.length));
  return [
    200,
    "text/plain; charset=utf-8",
    lines.map(([label, value]) => `${label.padEnd(width)}  ${value}\n`).join(""),
  ];
}
