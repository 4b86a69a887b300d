import { X509Certificate } from "node:crypto";
import { statfsSync } from "node:fs";
import { DAY_MS } from "../domain/durations.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, PoolFigures } from "../postgres/database.ts";
import type { ClockFigures } from "../process/wall-clock.ts";
import { merchantsWithWork } from "../tables/due-cases.ts";
import {
  countActionsByStatus,
  countPostponedCases,
  oldestUntrainedOutcome,
  readSessionFacts,
  sumMoneyByOutcome,
} from "../tables/service-counts.ts";
import { cacheResult } from "./delivery-metrics.ts";

/** The parts of the service that the figures cover. */
export interface ServiceParts {
  db: Database;
  /** The login, which alone sees what its sessions do. */
  owner: Database;
  ports: Ports;
  /** How many connections each pool has, by its name. */
  pools: Readonly<Record<string, () => PoolFigures>>;
  /** PEM of certificates by their use. */
  certificates: Readonly<Record<string, string>>;
  /** Free bytes of the disk that is watched. */
  freeBytes(): number;
  clock(): ClockFigures;
}

/** The state of the service: the numbers behind the metrics, the details of `/readyz` and `dunlin doctor`. Numbers of the database are read at most every 15 seconds. */
export type ServiceFigures = ReturnType<typeof createServiceFigures>;

export function createServiceFigures({ db, owner, ports, pools, certificates, freeBytes, clock }: ServiceParts) {
  const ageS = (at: Date | null | undefined) => (at ? Math.max(0, ports.now().getTime() - at.getTime()) / 1_000 : 0);
  const firstDue = cacheResult(ports, async () => (await merchantsWithWork(db, ports.now()))[0] ?? null);
  const unlearned = cacheResult(ports, () => oldestUntrainedOutcome(db, ports.now()));
  return {
    /** For how long the case that waits longest has been due or poked, in seconds of service time; 0: none waits. */
    oldestDueCaseS: async () => ageS((await firstDue())?.since),
    /** Cases whose last step failed. */
    casesAside: cacheResult(ports, () => countPostponedCases(db)),
    /** For how long the oldest outcome has waited to be learned, in seconds of service time; 0: none waits. */
    learnerLagS: async () => ageS(await unlearned()),
    actions: cacheResult(ports, () => countActionsByStatus(db)),
    money: cacheResult(ports, () => sumMoneyByOutcome(db)),
    sessions: cacheResult(ports, () => readSessionFacts(owner)),
    pools: () => Object.entries(pools).map(([pool, figures]) => ({ pool, ...poolUsageOf(figures()) })),
    certificates: () =>
      Object.entries(certificates).map(([use, pem]) => ({ use, days: daysUntilExpiry(pem, ports.realNow()) })),
    freeBytes,
    clock,
  };
}

const poolUsageOf = ({ open, idle, waiting }: PoolFigures) => ({ busy: open - idle, idle, waitedFor: waiting });

/** Days until a certificate in PEM expires; negative: it has expired. */
export const daysUntilExpiry = (pem: string, realNow: Date): number =>
  (new X509Certificate(pem).validToDate.getTime() - realNow.getTime()) / DAY_MS;

/** Bytes that are free for a user who is not root on the disk of a folder. */
export function readFreeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** The figures as `/readyz` of the metrics listener shows them. Those of a database that does not answer are null. */
export async function readinessDetails(figures: ServiceFigures) {
  const orNull = <T>(asked: Promise<T>) => asked.catch(() => null);
  const [oldestDueSeconds, setAside, lagSeconds, sessions, actions, money] = await Promise.all([
    orNull(figures.oldestDueCaseS()),
    orNull(figures.casesAside()),
    orNull(figures.learnerLagS()),
    orNull(figures.sessions()),
    orNull(figures.actions()),
    orNull(figures.money()),
  ]);
  const { offsetMs, jumps } = figures.clock();
  return {
    deciding: { oldestDueSeconds, setAside },
    learning: { lagSeconds },
    database: {
      lockWaits: sessions?.waiting ?? null,
      longestTransactionSeconds: sessions?.longestS ?? null,
      pools: figures.pools(),
    },
    certificates: figures.certificates(),
    disk: { freeBytes: figures.freeBytes() },
    clock: { offsetSeconds: offsetMs / 1_000, jumps },
    actions,
    money,
  };
}
