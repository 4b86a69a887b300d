import { Counter, Gauge, type Registry } from "prom-client";
import { setGaugeIfAvailable } from "./delivery-metrics.ts";
import type { ServiceFigures } from "./service-figures.ts";

export function addServiceGauges(registry: Registry, figures: ServiceFigures) {
  const { gauge, labeledGauge } = createGauges(registry);
  gauge(
    "dunlin_oldest_due_case_seconds",
    "How long the oldest due or queued case has waited, in service time; 0 if there is none",
    figures.oldestDueCaseS,
  );
  gauge("dunlin_cases_set_aside", "Cases whose last step failed; Dunlin retries them later", figures.postponedCases);
  gauge(
    "dunlin_learner_lag_seconds",
    "How long the oldest outcome has waited for training, in service time; 0 if there is none",
    figures.learnerLagS,
  );
  labeledGauge("dunlin_actions", "Listed actions of all merchants", ["status"], async () =>
    (await figures.actions()).map(({ status, actions: value }) => ({ labels: { status }, value })),
  );
  labeledGauge(
    "dunlin_money_minor_units",
    "Amount due of invoices in recovery (open), and amount recovered by Dunlin's retries (recovered)",
    ["outcome", "currency"],
    async () =>
      (await figures.money()).map(({ outcome, currency, amount }) => ({
        labels: { outcome, currency },
        value: Number(amount),
      })),
  );
  gauge(
    "dunlin_database_lock_waits",
    "Sessions of all processes that wait for a lock",
    async () => (await figures.sessions()).waiting,
  );
  gauge(
    "dunlin_database_longest_transaction_seconds",
    "How long the oldest transaction of all processes has been open",
    async () => (await figures.sessions()).longestS,
  );
  labeledGauge("dunlin_database_connections", "Connections of this process", ["pool", "state"], () =>
    figures.pools().flatMap(({ pool, busy, idle, waitedFor }) => [
      { labels: { pool, state: "busy" }, value: busy },
      { labels: { pool, state: "idle" }, value: idle },
      { labels: { pool, state: "waited_for" }, value: waitedFor },
    ]),
  );
  labeledGauge("dunlin_certificate_days", "Days until a certificate expires", ["use"], () =>
    figures.certificates().map(({ use, days }) => ({ labels: { use }, value: days })),
  );
  gauge("dunlin_disk_free_bytes", "Free space on the disk of DUNLIN_DATA", figures.freeBytes);
  gauge(
    "dunlin_clock_offset_seconds",
    "How far this machine's clock is behind the database's, whose time is used; 0 while they differ by less than a second",
    () => figures.clock().offsetMs / 1_000,
  );
  new Counter({
    name: "dunlin_clock_jumps_total",
    help: "Jumps of this machine's clock by more than a second since the start",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(figures.clock().jumps);
    },
  });
}

/** Adds gauges to a registry whose values are read when the metrics are. */
function createGauges(registry: Registry) {
  const registers = [registry];
  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        await setGaugeIfAvailable(this, async () => this.set(await value()));
      },
    });
  const labeledGauge = (
    name: string,
    help: string,
    labelNames: string[],
    values: () => Promise<LabeledGauge[]> | LabeledGauge[],
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        await setGaugeIfAvailable(this, async () => {
          const found = await values();
          this.reset();
          for (const { labels, value } of found) this.set(labels, value);
        });
      },
    });
  return { gauge, labeledGauge };
}

interface LabeledGauge {
  labels: Record<string, string>;
  value: number;
}
