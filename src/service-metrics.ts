import { X509Certificate } from "node:crypto";
import { statfsSync } from "node:fs";
import { Gauge, type Registry } from "prom-client";
import { remembered, whenAnswered } from "./delivery-metrics.ts";
import { DAY_MS } from "./domain/durations.ts";
import type { Ports } from "./domain/ports.ts";
import type { Database, PoolFigures } from "./store/database.ts";
import { dueMerchants } from "./store/due-cases.ts";
import { actionsByStatus, casesAside, moneyByOutcome, oldestUnlearned, sessionFacts } from "./store/service-counts.ts";

/** What is watched of the service as a whole. */
export interface Watched {
  db: Database;
  /** The login, which alone sees what its sessions do. */
  owner: Database;
  ports: Ports;
  /** How many connections each pool has, by its name. */
  pools: Readonly<Record<string, () => PoolFigures>>;
  /** PEM of certificates by their use. */
  certificates: Readonly<Record<string, string>>;
  /** The folder whose disk is watched. */
  dataDir: string;
}

/** Gauges of deciding, learning, money, the database, certificates and the disk. Those of the database are asked at most every quarter of a minute. */
export function addServiceGauges(registry: Registry, watched: Watched) {
  const { db, owner, ports, pools, certificates, dataDir } = watched;
  const registers = [registry];
  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        await whenAnswered(this, async () => this.set(await value()));
      },
    });
  const labelled = (name: string, help: string, labelNames: string[], values: () => Promise<Labelled[]> | Labelled[]) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        await whenAnswered(this, async () => {
          const found = await values();
          this.reset();
          for (const { labels, value } of found) this.set(labels, value);
        });
      },
    });
  const since = (at: Date | null | undefined) => (at ? Math.max(0, ports.now().getTime() - at.getTime()) / 1_000 : 0);

  const firstDue = remembered(ports, async () => (await dueMerchants(db, ports.now()))[0] ?? null);
  gauge(
    "dunlin_oldest_due_case_seconds",
    "For how long the case that waits longest has been due or poked, in service time; 0: none waits",
    async () => since((await firstDue())?.since),
  );
  gauge(
    "dunlin_cases_set_aside",
    "Cases whose last step failed; they are looked at again later",
    remembered(ports, () => casesAside(db)),
  );
  const unlearned = remembered(ports, () => oldestUnlearned(db, ports.now()));
  gauge(
    "dunlin_learner_lag_seconds",
    "For how long the oldest outcome has waited to be learned, in service time; 0: none waits",
    async () => since(await unlearned()),
  );
  const actions = remembered(ports, () => actionsByStatus(db));
  labelled("dunlin_actions", "Listed actions of all merchants", ["status"], async () =>
    (await actions()).map(({ status, actions: value }) => ({ labels: { status }, value })),
  );
  const money = remembered(ports, () => moneyByOutcome(db));
  labelled(
    "dunlin_money_minor_units",
    "What invoices in recovery ask for (open), and what retries that Dunlin asked for brought in (recovered)",
    ["outcome", "currency"],
    async () =>
      (await money()).map(({ outcome, currency, amount }) => ({
        labels: { outcome, currency },
        value: Number(amount),
      })),
  );

  const sessions = remembered(ports, () => sessionFacts(owner));
  gauge(
    "dunlin_database_lock_waits",
    "Sessions of all processes that wait for a lock",
    async () => (await sessions()).waiting,
  );
  gauge(
    "dunlin_database_longest_transaction_seconds",
    "How long the oldest transaction of all processes has been open",
    async () => (await sessions()).longestS,
  );
  labelled("dunlin_database_connections", "Connections of this process", ["pool", "state"], () =>
    Object.entries(pools).flatMap(([pool, figures]) => {
      const { open, idle, waiting } = figures();
      return [
        { labels: { pool, state: "busy" }, value: open - idle },
        { labels: { pool, state: "idle" }, value: idle },
        { labels: { pool, state: "waited_for" }, value: waiting },
      ];
    }),
  );

  labelled("dunlin_certificate_days", "Days until a certificate expires", ["use"], () =>
    Object.entries(certificates).map(([use, pem]) => ({
      labels: { use },
      value: (new X509Certificate(pem).validToDate.getTime() - ports.realNow().getTime()) / DAY_MS,
    })),
  );
  gauge("dunlin_disk_free_bytes", "Free on the disk of DUNLIN_DATA", () => {
    const { bavail, bsize } = statfsSync(dataDir);
    return bavail * bsize;
  });
}

interface Labelled {
  labels: Record<string, string>;
  value: number;
}
