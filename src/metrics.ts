import { createServer } from "node:http";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Database } from "./store/database.ts";
import { waitingDeliveries } from "./store/delivery-counts.ts";

/** What operators see, and the hooks that feed it. */
export interface Metrics {
  registry: Registry;
  /** An API request ended. */
  requestFinished(route: string, method: string, status: number, ms: number): void;
  /** Records of an ingest were committed. */
  recordsIngested(kind: string, received: number, changed: number): void;
  /** Cases were looked at. */
  onSteps(count: number): void;
  /** A delivery attempt ended. */
  onAttempt(attempt: { success: boolean; status: number | null; durationMs: number; latenessMs: number }): void;
}

/** Metrics of this process, and the depth of the queue in the database. */
export function createMetrics(db: Database): Metrics {
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
  const steps = new Counter({ name: "dunlin_case_steps_total", help: "Looks at cases that were due", registers });
  const attempts = new Histogram({
    name: "dunlin_delivery_attempt_seconds",
    help: "Duration of webhook attempts, in real time",
    labelNames: ["result"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
    registers,
  });
  const lateness = new Histogram({
    name: "dunlin_delivery_lateness_seconds",
    help: "How long after its due time a webhook attempt began, in service time",
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30, 300],
    registers,
  });
  new Gauge({
    name: "dunlin_deliveries_waiting",
    help: "Events that are not delivered yet, over all merchants",
    registers,
    async collect() {
      this.set(await waitingDeliveries(db));
    },
  });
  return {
    registry,
    requestFinished: (route, method, status, ms) =>
      requests.observe({ route, method, status: String(status) }, ms / 1000),
    recordsIngested(kind, received, changed) {
      records.inc({ kind, result: "changed" }, changed);
      records.inc({ kind, result: "known" }, received - changed);
    },
    onSteps: (count) => steps.inc(count),
    onAttempt({ success, status, durationMs, latenessMs }) {
      const result = success ? "2xx" : status === null ? "no answer" : `${Math.floor(status / 100)}xx`;
      attempts.observe({ result }, durationMs / 1000);
      lateness.observe(Math.max(0, latenessMs) / 1000);
    },
  };
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
    try {
      const text = await registry.metrics();
      reply.writeHead(200, { "content-type": registry.contentType }).end(text);
    } catch {
      reply.writeHead(503).end("The database does not answer.\n");
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
}
