// The arithmetic behind `docs/guides/capacity.md`, which a test compares with it.

/** CPU milliseconds and bytes. */
export interface Cost {
  serviceMs: number;
  databaseMs: number;
  walBytes: number;
  diskBytes: number;
}

export interface Assumptions {
  /** Of all payments. */
  failedShare: number;
  /** The busiest hour, compared with the mean. */
  peakFactor: number;
  /** At the peak. Beyond it waits grow fast. */
  utilization: number;
  /** The most by which whole pages after a checkpoint enlarge the WAL. */
  fullPageFactor: number;
  /** Of records and cases. */
  keptDays: number;
  /** Database CPU through Citus, compared with one PostgreSQL. */
  citusFactor: number;
  /** Of a big server. */
  server: { cores: number; walBytesPerSecond: number; diskBytes: number; connections: number };
  connectionsPerProcess: number;
  /** CPU milliseconds per second, for a process with nothing to do. */
  idle: { serviceMs: number; databaseMs: number };
  /** In the largest database that was measured. */
  measuredBytes: number;
  measuredCores: number;
}

export interface UnitCosts {
  paidInvoice: Cost;
  unpaidInvoice: Cost;
  attempt: Cost;
  /** In batches with 100 cases. */
  decision: Cost;
  /** Alone in its batch. */
  loneDecision: Cost;
  /** Without a new decision, in batches with 100 cases. */
  step: Cost;
  delivery: Cost;
  learned: Cost;
}

/** For each failed payment, until its case ends. */
export interface CaseLife {
  attempts: number;
  decisions: number;
  steps: number;
  events: number;
  openDays: number;
  /** Of a whole life, in all tables and indexes. */
  diskBytes: number;
  /** Half-way through its life, with its invoice and attempts. */
  open: { heapBytes: number; indexBytes: number };
}

export interface SizedRow {
  recordsPerSecond: number;
  failedPerMonth: number;
  openCases: number;
  apiCores: number;
  /** With big merchants, and with one case in each batch. */
  decideCores: readonly [number, number];
  deliverCores: number;
  learnCores: number;
  /** For being there. */
  idleCores: number;
  databaseCores: readonly [number, number];
  walBytesPerSecond: number;
  diskBytes: number;
  indexBytes: number;
  processes: number;
  connections: number;
  /** Null: one PostgreSQL is enough. */
  workers: number | null;
  /** The limit that is nearest, and the share of it that is used. */
  first: { name: string; share: number };
  /** Compared with the largest that was measured. */
  beyond: { cpu: number; data: number };
}

const DAY_SECONDS = 86_400;
const MONTH_SECONDS = (365 / 12) * DAY_SECONDS;
/** Deliverers share 64 buckets of merchants, and one process learns. */
const BUCKETS = 64;

type Work = ReadonlyArray<readonly [Cost, number]>;
const sum = (work: Work, field: keyof Cost) => work.reduce((total, [cost, times]) => total + cost[field] * times, 0);

/** @param recordsPerSecond  in the busiest hour */
export function size(recordsPerSecond: number, costs: UnitCosts, life: CaseLife, given: Assumptions): SizedRow {
  // A paid payment is an invoice and an attempt; a failed one is as many of both as it has attempts.
  const recordsPerPayment = 2 * (1 - given.failedShare) + 2 * life.attempts * given.failedShare;
  const payments = recordsPerSecond / recordsPerPayment;
  const failed = payments * given.failedShare;
  const paid = payments - failed;
  const ingest: Work = [
    [costs.paidInvoice, paid + failed * (life.attempts - 1)],
    [costs.unpaidInvoice, failed],
    [costs.attempt, paid + failed * life.attempts],
  ];
  const light = life.steps - life.decisions;
  const big: Work = [
    [costs.decision, failed * life.decisions],
    [costs.step, failed * light],
  ];
  const lone = (field: keyof Cost) => costs.loneDecision[field] - costs.decision[field];
  const deliver: Work = [[costs.delivery, failed * life.events]];
  const learn: Work = [[costs.learned, failed * (life.attempts - 1)]];
  const cores = (work: Work, field: "serviceMs" | "databaseMs") => sum(work, field) / 1_000 / given.utilization;
  const extra = (field: "serviceMs" | "databaseMs") => (failed * life.steps * lone(field)) / 1_000 / given.utilization;

  const apiCores = cores(ingest, "serviceMs");
  const decideCores = [cores(big, "serviceMs"), cores(big, "serviceMs") + extra("serviceMs")] as const;
  const [deliverCores, learnCores] = [cores(deliver, "serviceMs"), cores(learn, "serviceMs")];
  const all: Work = [...ingest, ...big, ...deliver, ...learn];
  const walBytesPerSecond = sum(all, "walBytes");
  const kept = (perSecond: number) => (perSecond / given.peakFactor) * given.keptDays * DAY_SECONDS;
  const diskBytes =
    kept(paid) * (costs.paidInvoice.diskBytes + costs.attempt.diskBytes) + kept(failed) * life.diskBytes;
  const openCases = (failed / given.peakFactor) * life.openDays * DAY_SECONDS;
  const roles = [apiCores, decideCores[1], deliverCores].map(Math.ceil);
  // A small installation is one process; others have a process for each core, a learner and two for the console.
  const isSmall = apiCores + decideCores[1] + deliverCores + learnCores <= 1;
  const processes = isSmall ? 1 : roles.reduce((total, each) => total + each, 0) + 3;
  const connections = processes * given.connectionsPerProcess;

  const idleCores = (processes * given.idle.serviceMs) / 1_000;
  const idleDatabase = (processes * given.idle.databaseMs) / 1_000;
  const bigDatabase = cores(all, "databaseMs") + idleDatabase;
  const databaseCores = [bigDatabase, bigDatabase + extra("databaseMs")] as const;

  const { server } = given;
  const needs = [
    databaseCores[1] / server.cores,
    (walBytesPerSecond * given.fullPageFactor) / server.walBytesPerSecond,
    diskBytes / server.diskBytes,
  ];
  const isSpread = needs.some((share) => share > 1);
  const workers = isSpread ? Math.ceil(Math.max(needs[0]! * given.citusFactor, needs[1]!, needs[2]!, 2)) : null;
  const limits = [
    { name: "database CPU", share: needs[0]! },
    { name: "WAL", share: needs[1]! },
    { name: "disk", share: needs[2]! },
    { name: "connections", share: connections / server.connections },
    { name: "the learner", share: learnCores },
    { name: "64 deliverers", share: deliverCores / BUCKETS },
  ];
  const first = limits.reduce((most, each) => (each.share > most.share ? each : most));
  return {
    recordsPerSecond,
    failedPerMonth: (failed / given.peakFactor) * MONTH_SECONDS,
    openCases,
    ...{ apiCores, decideCores, deliverCores, learnCores, idleCores, databaseCores, walBytesPerSecond, diskBytes },
    indexBytes: openCases * life.open.indexBytes,
    ...{ processes, connections, workers, first },
    beyond: { cpu: databaseCores[1] / given.measuredCores, data: diskBytes / given.measuredBytes },
  };
}

/** The records per second at the peak that lead to so many open cases. */
export function recordsForOpenCases(openCases: number, costs: UnitCosts, life: CaseLife, given: Assumptions): number {
  return Math.round(openCases / size(1, costs, life, given).openCases);
}
