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

/** The metrics for operators, and the hooks that feed them. */
export interface Metrics extends DeliveryMetrics {
  registry: Registry;
  /** An API request ended. */
  requestFinished(route: string, method: string, status: number, ms: number): void;
  /** Records of an ingest were committed. */
  recordsIngested(kind: string, received: number, changed: number, older: number): void;
  /** Requests that the request log has no row of. */
  requestsUnlogged(count: number): void;
  /** A request without a good key was counted alone, because there were many. */
  unauthenticatedRequest(): void;
  connectionRefused(reason: "address" | "all"): void;
  /** Cases were looked at. */
  onSteps(count: number): void;
  /** Deciding, learning, money, the database, certificates, the disk and the clock are shown from now on. */
  watchService(figures: ServiceFigures): void;
  /** Processes, the database's answers and what the log warns of are shown from now on. */
  watchPresence(look: () => HeartbeatFigures, troubles: LoggedProblems): void;
}

/** Metrics of this process, and of the queue in the database. */
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
    help: "Records of ingest requests that were answered with 200: changed by them, or known already",
    labelNames: ["kind", "result"],
    registers,
  });
  // An alert on what does not come needs a line of it.
  for (const kind of ["subscriptions", "invoices", "transactions"])
    for (const result of ["changed", "known", "older"]) records.inc({ kind, result }, 0);
  const unlogged = new Counter({
    name: "dunlin_requests_unlogged_total",
    help: "Requests that the request log has no row of, because the database was away for too long",
    registers,
  });
  const strange = new Counter({
    name: "dunlin_requests_of_nobody_total",
    help: "Requests without a good key that the request log has no row of, because there were many",
    registers,
  });
  const refused = new Counter({
    name: "dunlin_connections_refused_total",
    help: "Connections that were closed at once, because their address had its share (address), or because there were too many of all (all)",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of ["address", "all"]) refused.inc({ reason }, 0);
  const steps = new Counter({ name: "dunlin_case_steps_total", help: "Looks at cases that were due", registers });
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
    unauthenticatedRequest: () => strange.inc(),
    connectionRefused: (reason) => refused.inc({ reason }),
    onSteps: (count) => steps.inc(count),
    watchService: (figures) => addServiceGauges(registry, figures),
    watchPresence: (look, troubles) => addHeartbeatGauges(registers, look, troubles),
    ...createDeliveryMetrics(registry, db, ports),
  };
}

function addHeartbeatGauges(registers: Registry[], look: () => HeartbeatFigures, troubles: LoggedProblems) {
  new Gauge({
    name: "dunlin_database_up",
    help: "Whether the database answered this process within the last 15 seconds",
    registers,
    collect() {
      this.set(look().isDatabaseUp ? 1 : 0);
    },
  });
  new Gauge({
    name: "dunlin_database_answer_seconds",
    help: "How long the database took to answer this process last",
    registers,
    collect() {
      this.set(look().answerMs / 1000);
    },
  });
  new Gauge({
    name: "dunlin_processes",
    help: "Processes on the database that were seen within an hour, by version: running, or silent for 20 seconds or longer",
    labelNames: ["state", "version"],
    registers,
    collect() {
      this.reset();
      for (const { version, isSilent } of look().processes)
        this.inc({ state: isSilent ? "silent" : "running", version });
    },
  });
  new Counter({
    name: "dunlin_warnings_total",
    help: "Lines of this process's log from the level warn up, by name",
    labelNames: ["name"],
    registers,
    collect() {
      this.reset();
      for (const { name, count } of troubles.all()) this.inc({ name }, count);
    },
  });
}

/**
 * Serve `/metrics` and a `/readyz` with details, in the clear and without a key: for the network of the operator only.
 *
 * @param ready  as `/readyz` of the API is answered
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
      reply.writeHead(404).end("Metrics are at /metrics, and details of readiness at /readyz.\n");
      return;
    }
    const text = await registry.metrics();
    reply.writeHead(200, { "content-type": registry.contentType }).end(text);
  });
  return (await listen(server, host, port)).close;
}
