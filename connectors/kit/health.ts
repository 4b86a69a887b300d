import { createServer, type Server } from "node:http";
import { Counter, Gauge, Registry } from "prom-client";
import { type Backlog, type ConnectorStore, LATE_MS } from "./store.ts";

/** Figures of a running connector, for Prometheus and for people. */
export interface Health {
  onCall(outcome: "answered" | "refused" | "failed"): void;
  onError(step: string, error: unknown): void;
  /** A round of a loop ended. Null: it succeeded. */
  onRound(loop: string, error: unknown): void;
  setPaused(isPaused: boolean): void;
  registry: Registry;
  page(): Promise<HealthPage>;
}

export interface HealthPage {
  isHealthy: boolean;
  lines: readonly (readonly [name: string, value: string])[];
}

/** What can fail, in the metric and on the page. */
const KINDS: readonly (readonly [kind: string, words: string, countOf: (backlog: Backlog) => number])[] = [
  ["change", "changes", ({ failing }) => failing],
  ["action", "actions", ({ failingActions }) => failingActions],
  ["event", "events of Dunlin", ({ failingEvents }) => failingEvents],
  ["release", "releases", ({ failingReleases }) => failingReleases],
];

export interface HealthOptions {
  store: ConnectorStore;
  /** Such as `stripe, test mode`. */
  name: string;
  /** Service time. */
  now(): Date;
  /** How fast service time runs. Default: 1. */
  clockRate?: number;
}

export function createHealth({ store, name, now, clockRate = 1 }: HealthOptions): Health {
  const startedAt = now();
  const lateMs = LATE_MS * clockRate;
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
  /** Loops whose rounds have failed since then, each of them. */
  const failingSince = new Map<string, Date>();
  const lateLoops = () =>
    [...failingSince].filter(([, since]) => now().getTime() - since.getTime() >= lateMs).map(([loop]) => loop);
  let lastError: { step: string; problem: string; at: Date } | null = null;
  const read = async () => {
    const [backlog, last, poll] = await Promise.all([
      store.countBacklog(now(), new Date(now().getTime() - lateMs)),
      store.readCursor("last-event"),
      store.readCursor("last-poll"),
    ]);
    const lagMs = backlog.oldestAt ? Math.max(0, now().getTime() - backlog.oldestAt.getTime()) : 0;
    const pollAgeMs = Math.max(0, now().getTime() - (poll === null ? startedAt : new Date(poll)).getTime());
    return { ...backlog, lagMs, last, poll, pollAgeMs };
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
  new Gauge({
    ...{
      name: "dunlin_connector_failing",
      help: "Changes, recovery actions, events of Dunlin and releases whose last attempt failed, and loops that fail for long",
      labelNames: ["kind"],
      registers,
    },
    async collect() {
      const backlog = await readOnce();
      for (const [kind, , countOf] of KINDS) this.set({ kind }, countOf(backlog));
      this.set({ kind: "loop" }, lateLoops().length);
    },
  });
  gauge("dunlin_connector_due_actions", "Recovery actions whose time has come", ({ dueActions }) => dueActions);
  gauge(
    "dunlin_connector_lag_seconds",
    "How long the oldest change has waited, in service time",
    ({ lagMs }) => lagMs / 1_000,
  );
  gauge(
    "dunlin_connector_poll_age_seconds",
    "Time since the last successful poll of events, in service time",
    ({ pollAgeMs }) => pollAgeMs / 1_000,
  );
  gauge("dunlin_connector_paused", "1 while a person has paused the connector", () => Number(isPaused));
  function onError(step: string, error: unknown) {
    errors.inc({ loop: step });
    lastError = { step, problem: String(error), at: now() };
  }
  return {
    onCall: (outcome) => calls.inc({ outcome }),
    onError,
    onRound(loop, error) {
      if (error === null) return void failingSince.delete(loop);
      onError(loop, error);
      if (!failingSince.has(loop)) failingSince.set(loop, now());
    },
    setPaused(paused) {
      isPaused = paused;
    },
    registry,
    async page() {
      const backlog = await read();
      const { waiting, dueActions, lagMs, last, poll, pollAgeMs } = backlog;
      const isPollLate = pollAgeMs >= lateMs;
      const failing = [
        ...(isPollLate ? ["polls"] : []),
        ...KINDS.filter(([, , countOf]) => countOf(backlog) > 0).map(([, words]) => words),
        ...lateLoops().map((loop) => `loop ${loop}`),
      ];
      const problems = [
        ...(lagMs >= lateMs ? ["behind"] : []),
        ...(failing.length > 0 ? [`failing: ${failing.join(", ")}`] : []),
      ];
      return {
        isHealthy: problems.length === 0,
        lines: [
          ["Connection", `${name}${isPaused ? ", paused" : ""}`],
          ["State", problems.length === 0 ? "healthy" : problems.join("; ")],
          ["Changes waiting", `${waiting}, the oldest for ${Math.round(lagMs / 1_000)} s`],
          ["Actions due", String(dueActions)],
          ...KINDS.map(([, words, countOf]) => [`Failing ${words}`, String(countOf(backlog))] as const),
          ["Last event", last ?? "none yet"],
          ["Last poll", `${poll ?? "none yet"}${isPollLate ? ", for more than 10 minutes" : ""}`],
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
