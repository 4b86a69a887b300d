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

export interface ServiceParts {
  db: Database;
  /** Only this login can see what its sessions do. */
  owner: Database;
  ports: Ports;
  /** Connections by pool name. */
  pools: Readonly<Record<string, () => PoolFigures>>;
  /** PEM by use. */
  certificates: Readonly<Record<string, string>>;
  freeBytes(): number;
  clock(): ClockFigures;
}

/** For metrics, `/readyz` and `dunlin doctor`. Database figures are read at most every 15 seconds. */
export type ServiceFigures = ReturnType<typeof createServiceFigures>;

export function createServiceFigures({ db, owner, ports, pools, certificates, freeBytes, clock }: ServiceParts) {
  const ageS = (at: Date | null | undefined) => (at ? Math.max(0, ports.now().getTime() - at.getTime()) / 1_000 : 0);
  const firstDue = cacheResult(ports, async () => (await merchantsWithWork(db, ports.now()))[0] ?? null);
  const unlearned = cacheResult(ports, () => oldestUntrainedOutcome(db, ports.now()));
  return {
    /** Seconds of service time; 0 if no case is due. */
    oldestDueCaseS: async () => ageS((await firstDue())?.since),
    postponedCases: cacheResult(ports, () => countPostponedCases(db)),
    /** Seconds of service time; 0 if no outcome waits. */
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

/** Negative if it has expired. */
export const daysUntilExpiry = (pem: string, realNow: Date): number =>
  (new X509Certificate(pem).validToDate.getTime() - realNow.getTime()) / DAY_MS;

/** Space for users other than root. */
export function readFreeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Figures of an unreachable database are null. */
export async function readinessDetails(figures: ServiceFigures) {
  const orNull = <T>(figure: Promise<T>) => figure.catch(() => null);
  const [oldestDueSeconds, setAside, lagSeconds, sessions, actions, money] = await Promise.all([
    orNull(figures.oldestDueCaseS()),
    orNull(figures.postponedCases()),
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
