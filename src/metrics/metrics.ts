import { createServer } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Ports } from "../domain/ports.ts";
import { listen } from "../http/listener.ts";
import type { Database } from "../postgres/database.ts";
import type { HeartbeatFigures } from "../process/heartbeat.ts";
import type { LoggedProblems } from "../process/logged-problems.ts";
import { createDeliveryMetrics, type DeliveryMetrics } from "./delivery-metrics.ts";
import { readinessDetails, type ServiceFigures } from "./service-figures.ts";
import { addServiceGauges } from "./service-metrics.ts";

export interface Metrics extends DeliveryMetrics {
  registry: Registry;
  requestFinished(route: string, method: string, status: number, ms: number): void;
  recordsIngested(kind: string, received: number, changed: number, older: number): void;
  /** Requests that the request log could not store. */
  requestsUnlogged(count: number): void;
  /** Requests without a valid key, too many to be logged. */
  unauthenticatedRequest(): void;
  connectionRefused(reason: "address" | "all"): void;
  onSteps(count: number): void;
  watchService(figures: ServiceFigures): void;
  watchPresence(readFigures: () => HeartbeatFigures, loggedProblems: LoggedProblems): void;
}

export function createMetrics(db: Database, ports: Ports): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const requests = new Histogram({
    name: "dunlin_http_request_seconds",
    help: "Duration of inbound API requests",
    labelNames: ["route", "method", "status"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  const records = new Counter({
    name: "dunlin_ingested_records_total",
    help: "Records of accepted ingest requests: changed, known already (known), or older than the stored version (older)",
    labelNames: ["kind", "result"],
    registers,
  });
  // An alert on missing records needs a series from the start.
  for (const kind of ["subscriptions", "invoices", "transactions"])
    for (const result of ["changed", "known", "older"]) records.inc({ kind, result }, 0);
  const unlogged = new Counter({
    name: "dunlin_requests_unlogged_total",
    help: "Requests missing in the request log because the database was unreachable for too long",
    registers,
  });
  const unauthenticated = new Counter({
    name: "dunlin_requests_of_nobody_total",
    help: "Requests without a valid key that are missing in the request log because there were too many",
    registers,
  });
  const refused = new Counter({
    name: "dunlin_connections_refused_total",
    help: "Connections refused because their address had too many (address), or because there were too many in total (all)",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of ["address", "all"]) refused.inc({ reason }, 0);
  const steps = new Counter({ name: "dunlin_case_steps_total", help: "Steps of due or queued cases", registers });
  return {
    registry,
    requestFinished: (route, method, status, ms) =>
      requests.observe({ route, method, status: String(status) }, ms / 1000),
    recordsIngested(kind, received, changed, older) {
      records.inc({ kind, result: "changed" }, changed);
      records.inc({ kind, result: "known" }, received - changed - older);
      records.inc({ kind, result: "older" }, older);
    },
    requestsUnlogged: (count) => unlogged.inc(count),
    unauthenticatedRequest: () => unauthenticated.inc(),
    connectionRefused: (reason) => refused.inc({ reason }),
    onSteps: (count) => steps.inc(count),
    watchService: (figures) => addServiceGauges(registry, figures),
    watchPresence: (readFigures, loggedProblems) => addHeartbeatGauges(registers, readFigures, loggedProblems),
    ...createDeliveryMetrics(registry, db, ports),
  };
}

function addHeartbeatGauges(
  registers: Registry[],
  readFigures: () => HeartbeatFigures,
  loggedProblems: LoggedProblems,
) {
  new Gauge({
    name: "dunlin_database_up",
    help: "Whether the database answered this process within the last 15 seconds",
    registers,
    collect() {
      this.set(readFigures().isDatabaseUp ? 1 : 0);
    },
  });
  new Gauge({
    name: "dunlin_database_answer_seconds",
    help: "Latest answer time of the database, as measured by this process",
    registers,
    collect() {
      this.set(readFigures().answerMs / 1000);
    },
  });
  new Gauge({
    name: "dunlin_processes",
    help: "Processes seen within an hour, by version: running, or silent for 20 seconds or longer",
    labelNames: ["state", "version"],
    registers,
    collect() {
      this.reset();
      for (const { version, isSilent } of readFigures().processes)
        this.inc({ state: isSilent ? "silent" : "running", version });
    },
  });
  new Counter({
    name: "dunlin_warnings_total",
    help: "Warnings and errors in this process's log, by name",
    labelNames: ["name"],
    registers,
    collect() {
      this.reset();
      for (const { name, count } of loggedProblems.all()) this.inc({ name }, count);
    },
  });
}

/**
 * Serves `/metrics`, and `/readyz` with details, over HTTP and without a key. Only for the operator's network.
 *
 * @param ready  the status that the API's `/readyz` returns
 */
export async function startMetricsServer(
  { registry }: Metrics,
  figures: ServiceFigures,
  ready: () => Promise<{ ok: boolean; problems: readonly string[] }>,
  host: string,
  port: number,
): Promise<() => Promise<void>> {
  const server = createServer(async (request, reply) => {
    if (request.url === "/readyz") {
      const { ok, problems } = await ready();
      const body = { status: ok ? "ready" : "not ready", problems, ...(await readinessDetails(figures)) };
      reply.writeHead(ok ? 200 : 503, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
      return;
    }
    if (request.url !== "/metrics") {
      reply.writeHead(404).end("Metrics are at /metrics, and readiness details at /readyz.\n");
      return;
    }
    const text = await registry.metrics();
    reply.writeHead(200, { "content-type": registry.contentType }).end(text);
  });
  return (await listen(server, host, port)).close;
}
