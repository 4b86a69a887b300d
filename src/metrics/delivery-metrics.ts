import { setTimeout as sleep } from "node:timers/promises";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { countFailingEndpoints, countQueueDepths, findOldestDue } from "../tables/delivery-counts.ts";

export interface AttemptObservation {
  /** 1 to 7. */
  number: number;
  success: boolean;
  status: number | null;
  /** Real time. */
  durationMs: number;
  /** Service time from the due time to the start. */
  latenessMs: number;
}

export interface DelivererFigures {
  leases: number;
  inFlight: number;
  unsent: number;
  connections: { open: number; idle: number; made: number };
}

export interface DeliveryMetrics {
  onAttempt(attempt: AttemptObservation): void;
  /** Calls `readFigures` at each scrape. */
  watchDeliverer(readFigures: () => DelivererFigures): void;
}

/**
 * The merchants with the most waiting events get their own series. A thousand merchants must not become a thousand
 * series.
 */
const LABELED_MERCHANT_COUNT = 20;
const OTHER_MERCHANTS = "other";
const CACHE_MS = 15_000;
/** Counting a queue takes at most this share of one core. */
const MAX_CPU_SHARE = 0.01;
/** A scrape waits at most this long if older figures exist. */
const REFRESH_WAIT_MS = 1_000;
/** Prometheus gives up after ten seconds. */
const SCRAPE_TIMEOUT_MS = 5_000;

/** Leaves the gauge out if the database does not answer, because process metrics matter most then. */
export async function setGaugeIfAvailable(gauge: Gauge, set: () => Promise<void>): Promise<void> {
  const timeout = new AbortController();
  const timedOut = sleep(SCRAPE_TIMEOUT_MS, undefined, { signal: timeout.signal, ref: false }).then(() =>
    Promise.reject(new Error("no answer")),
  );
  try {
    await Promise.race([set(), timedOut]);
  } catch {
    gauge.reset();
    gauge.remove({});
  } finally {
    timedOut.catch(() => {});
    timeout.abort();
  }
}

/** Counters change as things happen. Queue figures come from the database, at most every 15 seconds. */
export function createDeliveryMetrics(registry: Registry, db: Database, ports: Ports): DeliveryMetrics {
  const registers = [registry];
  const attempts = new Histogram({
    name: "dunlin_delivery_attempt_seconds",
    help: "Duration of webhook attempts, in real time",
    labelNames: ["result"],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
    registers,
  });
  const lateness = new Histogram({
    name: "dunlin_delivery_lateness_seconds",
    help: "How long after its due time a webhook attempt began, in service time, by the attempt's number",
    labelNames: ["attempt"],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 30, 300],
    registers,
  });
  // Cached, because hashing labels costs more than the rest of an observation.
  const [first, short, later] = ["1", "2-4", "later"].map((attempt) => lateness.labels({ attempt }));
  const durations = new Map<string, ReturnType<typeof attempts.labels>>();
  const durationOf = (result: string) => {
    const duration = durations.get(result) ?? attempts.labels({ result });
    durations.set(result, duration);
    return duration;
  };
  addQueueGauges(registers, db, ports);
  return {
    onAttempt({ number, success, status, durationMs, latenessMs }) {
      const result = success ? "2xx" : status === null ? "no answer" : `${Math.floor(status / 100)}xx`;
      durationOf(result).observe(durationMs / 1000);
      (number === 1 ? first! : number <= 4 ? short! : later!).observe(Math.max(0, latenessMs) / 1000);
    },
    watchDeliverer: (readFigures) => addDelivererGauges(registers, readFigures),
  };
}

function addDelivererGauges(registers: Registry[], readFigures: () => DelivererFigures) {
  const gauge = (name: string, help: string, value: (figures: DelivererFigures) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(readFigures()));
      },
    });
  gauge("dunlin_leases_held", "Buckets of merchants, of 64, that this process sends for", ({ leases }) => leases);
  gauge("dunlin_deliveries_in_flight", "Webhook attempts on the wire", ({ inFlight }) => inFlight);
  new Gauge({
    name: "dunlin_webhook_connections",
    help: "Connections to merchants' endpoints: busy with an attempt, or idle and kept",
    labelNames: ["state"],
    registers,
    collect() {
      const { open, idle } = readFigures().connections;
      this.set({ state: "busy" }, open - idle);
      this.set({ state: "idle" }, idle);
    },
  });
  new Counter({
    name: "dunlin_deliveries_unsent_total",
    help: "Webhook attempts that were not made because this process had no more files, memory or ports; they do not count as attempts",
    registers,
    collect() {
      this.reset();
      this.inc(readFigures().unsent);
    },
  });
  new Counter({
    name: "dunlin_webhook_connections_made_total",
    help: "New connections to merchants' endpoints; 1 minus these per attempt is the share of reuse",
    registers,
    collect() {
      this.reset();
      this.inc(readFigures().connections.made);
    },
  });
}

function addQueueGauges(registers: Registry[], db: Database, ports: Ports) {
  const depths = cacheResult(ports, () => countQueueDepths(db, LABELED_MERCHANT_COUNT));
  const oldest = cacheResult(ports, () => findOldestDue(db, ports.now()));
  const endpoints = cacheResult(ports, () => countFailingEndpoints(db));
  new Gauge({
    name: "dunlin_deliveries_waiting",
    help: "Events that are not delivered yet, of all merchants",
    registers,
    async collect() {
      await setGaugeIfAvailable(this, async () =>
        this.set((await depths()).reduce((sum, { depth }) => sum + depth, 0)),
      );
    },
  });
  new Gauge({
    name: "dunlin_merchant_deliveries_waiting",
    help: `Events that are not delivered yet, of the ${LABELED_MERCHANT_COUNT} merchants with the most, and of all others`,
    labelNames: ["merchant"],
    registers,
    async collect() {
      await setGaugeIfAvailable(this, async () => {
        const found = await depths();
        this.reset();
        for (const { merchantId, depth } of found) this.set({ merchant: merchantId ?? OTHER_MERCHANTS }, depth);
      });
    },
  });
  new Gauge({
    name: "dunlin_merchant_oldest_due_seconds",
    help: "How long the oldest overdue delivery has been due, in service time, except for merchants whose deliveries are paused",
    labelNames: ["merchant"],
    registers,
    async collect() {
      await setGaugeIfAvailable(this, async () => {
        const labeledIds = new Set((await depths()).map(({ merchantId }) => merchantId));
        const ages = new Map<string, number>();
        const nowMs = ports.now().getTime();
        for (const { merchantId, dueAt } of await oldest()) {
          const merchant = labeledIds.has(merchantId) ? merchantId : OTHER_MERCHANTS;
          ages.set(merchant, Math.max(ages.get(merchant) ?? 0, (nowMs - dueAt.getTime()) / 1000));
        }
        this.reset();
        for (const [merchant, age] of ages) this.set({ merchant }, age);
      });
    },
  });
  new Gauge({
    name: "dunlin_endpoints",
    help: "Merchants' endpoints with a problem: failing all attempts for a minute or longer, paused by Dunlin, paused by a person",
    labelNames: ["state"],
    registers,
    async collect() {
      await setGaugeIfAvailable(this, async () => {
        const { failing, pausedByDunlin, pausedByPerson } = await endpoints();
        this.set({ state: "failing" }, failing);
        this.set({ state: "paused_by_dunlin" }, pausedByDunlin);
        this.set({ state: "paused_by_person" }, pausedByPerson);
      });
    },
  });
}

/**
 * Caches a result for 15 seconds, or 100 times as long as it took. Concurrent callers share a request. A slow refresh
 * returns the old result meanwhile.
 */
export function cacheResult<T>(ports: Pick<Ports, "monotonicMs">, load: () => Promise<T>): () => Promise<T> {
  let last: { answer: T; tookMs: number; goodUntilMs: number } | null = null;
  let pending: Promise<T> | null = null;

  async function refresh(): Promise<T> {
    // Lets a scrape read the connection pools before its own queries use them.
    await null;
    const startedMs = ports.monotonicMs();
    try {
      const answer = await load();
      const nowMs = ports.monotonicMs();
      const tookMs = nowMs - startedMs;
      last = { answer, tookMs, goodUntilMs: nowMs + Math.max(CACHE_MS, tookMs / MAX_CPU_SHARE) };
      return answer;
    } catch (error) {
      // Figures from before an outage must not be shown during it.
      last = null;
      throw error;
    } finally {
      pending = null;
    }
  }

  return async () => {
    if (last !== null && ports.monotonicMs() < last.goodUntilMs) return last.answer;
    pending ??= refresh();
    if (last === null || last.tookMs < REFRESH_WAIT_MS) return pending;
    pending.catch(() => {});
    return last.answer;
  };
}
