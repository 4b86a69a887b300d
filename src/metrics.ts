import { createServer } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { listen } from "./api/listener.ts";
import { createDeliveryMetrics, type DeliveryMetrics } from "./delivery-metrics.ts";
import type { Ports } from "./domain/ports.ts";
import type { PresenceFigures } from "./presence.ts";
import { addServiceGauges, type Watched } from "./service-metrics.ts";
import type { Database } from "./store/database.ts";
import type { Troubles } from "./troubles.ts";
import type { ClockFigures } from "./wall-clock.ts";

/** What operators see, and the hooks that feed it. */
export interface Metrics extends DeliveryMetrics {
  registry: Registry;
  /** An API request ended. */
  requestFinished(route: string, method: string, status: number, ms: number): void;
  /** Records of an ingest were committed. */
  recordsIngested(kind: string, received: number, changed: number, older: number): void;
  /** Requests that the request log has no row of. */
  requestsUnlogged(count: number): void;
  /** A request without a good key was counted alone, because there were many. */
  requestOfNobody(): void;
  /** Cases were looked at. */
  onSteps(count: number): void;
  /** Deciding, learning, money, the database, certificates and the disk are shown from now on. */
  watchService(watched: Watched): void;
  /** Processes, the database's answers and what the log warns of are shown from now on. */
  watchPresence(look: () => PresenceFigures, troubles: Troubles): void;
  /** `look` is asked at each scrape. */
  watchClock(look: () => ClockFigures): void;
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
    requestOfNobody: () => strange.inc(),
    onSteps: (count) => steps.inc(count),
    watchService: (watched) => addServiceGauges(registry, watched),
    watchPresence: (look, troubles) => addPresenceGauges(registers, look, troubles),
    watchClock: (look) => addClockGauges(registers, look),
    ...createDeliveryMetrics(registry, db, ports),
  };
}

function addClockGauges(registers: Registry[], look: () => ClockFigures) {
  new Gauge({
    name: "dunlin_clock_offset_seconds",
    help: "By how much this machine's clock is behind the database's, whose time is used; 0 while they are within a second",
    registers,
    collect() {
      this.set(look().offsetMs / 1000);
    },
  });
  new Counter({
    name: "dunlin_clock_jumps_total",
    help: "Jumps of this machine's clock by more than a second since the start",
    registers,
    collect() {
      this.reset();
      this.inc(look().jumps);
    },
  });
}

function addPresenceGauges(registers: Registry[], look: () => PresenceFigures, troubles: Troubles) {
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

/** Serve `/metrics`, and nothing else, in the clear: for the network of the operator only. */
export async function startMetricsServer(
  { registry }: Metrics,
  host: string,
  port: number,
): Promise<() => Promise<void>> {
  const server = createServer(async (request, reply) => {
    if (request.url !== "/metrics") {
      reply.writeHead(404).end("Metrics are at /metrics.\n");
      return;
    }
    const text = await registry.metrics();
    reply.writeHead(200, { "content-type": registry.contentType }).end(text);
  });
  return (await listen(server, host, port)).close;
}
