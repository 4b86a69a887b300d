import { Counter, Gauge, type Registry } from "prom-client";
import { setGaugeIfAvailable } from "./delivery-metrics.ts";
import type { ServiceFigures } from "./service-figures.ts";

/** Gauges of deciding, learning, money, the database, certificates, the disk and the clock. */
export function addServiceGauges(registry: Registry, figures: ServiceFigures) {
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
  const labelled = (
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

  gauge(
    "dunlin_oldest_due_case_seconds",
    "For how long the case that waits longest has been due or poked, in service time; 0: none waits",
    figures.oldestDueCaseS,
  );
  gauge("dunlin_cases_set_aside", "Cases whose last step failed; they are looked at again later", figures.casesAside);
  gauge(
    "dunlin_learner_lag_seconds",
    "For how long the oldest outcome has waited to be learned, in service time; 0: none waits",
    figures.learnerLagS,
  );
  labelled("dunlin_actions", "Listed actions of all merchants", ["status"], async () =>
    (await figures.actions()).map(({ status, actions: value }) => ({ labels: { status }, value })),
  );
  labelled(
    "dunlin_money_minor_units",
    "What invoices in recovery ask for (open), and what retries that Dunlin asked for brought in (recovered)",
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
  labelled("dunlin_database_connections", "Connections of this process", ["pool", "state"], () =>
    figures.pools().flatMap(({ pool, busy, idle, waitedFor }) => [
      { labels: { pool, state: "busy" }, value: busy },
      { labels: { pool, state: "idle" }, value: idle },
      { labels: { pool, state: "waited_for" }, value: waitedFor },
    ]),
  );
  labelled("dunlin_certificate_days", "Days until a certificate expires", ["use"], () =>
    figures.certificates().map(({ use, days }) => ({ labels: { use }, value: days })),
  );
  gauge("dunlin_disk_free_bytes", "Free on the disk of DUNLIN_DATA", figures.freeBytes);
  gauge(
    "dunlin_clock_offset_seconds",
    "By how much this machine's clock is behind the database's, whose time is used; 0 while they are within a second",
    () => figures.clock().offsetMs / 1_000,
  );
  new Counter({
    name: "dunlin_clock_jumps_total",
    help: "Jumps of this machine's clock by more than a second since the start",
    registers,
    collect() {
      this.reset();
      this.inc(figures.clock().jumps);
    },
  });
}

interface LabeledGauge {
  labels: Record<string, string>;
  value: number;
}
