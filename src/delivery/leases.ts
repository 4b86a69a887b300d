import type { Logger as Log } from "pino";
import { BUCKET_COUNT } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Connection, Database, Tx } from "../postgres/database.ts";
import {
  acquireLeases,
  announceDeliverer,
  countDeliverers,
  releaseLeases,
  renewLeases,
} from "../tables/bucket-leases.ts";

export interface LeaseTimings {
  /** How long a lease lasts when its owner hangs; real time. */
  leaseMs: number;
  renewMs: number;
  /** No attempt is started so shortly before the lease could run out: one that is started ends while it still holds. */
  attemptMs: number;
  /** A statement on the lease connection that takes longer means that the connection is dead. */
  statementMs: number;
}

export const LEASE_TIMINGS: LeaseTimings = { leaseMs: 60_000, renewMs: 10_000, attemptMs: 33_000, statementMs: 5_000 };

export interface Leases {
  /** The epoch under which attempts for this bucket may be started now; null when they may not. */
  epochOf(bucket: number): number | null;
  /** Renew, give up what is beyond the fair share, take what is free. Call it every second or so. */
  tick(): Promise<void>;
  /** Buckets owned, also those that are being given up. */
  held(): number[];
  release(): Promise<void>;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  owner: string;
  timings: LeaseTimings;
  /** Whether attempts of this bucket are on the wire or not recorded yet. */
  busy(bucket: number): boolean;
  /** Attempts may be started now for buckets for which they could not be before. */
  onGained?(): void;
}

interface HeldBucket {
  epoch: number;
  /** By the own monotonic clock: a stopped process does not trust what it knew. */
  startUntilMs: number;
  leaving: boolean;
}

/** This process's share of the 64 buckets. A process that died is succeeded at once, one that hangs after `leaseMs`. */
export function createLeases({ db, ports, log, owner, timings, busy, onGained }: Options): Leases {
  const held = new Map<number, HeldBucket>();
  let connection: Connection | null = null;
  let renewedMs = Number.NEGATIVE_INFINITY;
  let ticking: Promise<void> | null = null;

  async function connected(): Promise<Connection> {
    if (connection !== null) return connection;
    const fresh = await db.connect();
    // Others take the old connection's death for ours, so the leases are moved to this one first of all.
    renewedMs = Number.NEGATIVE_INFINITY;
    connection = fresh;
    fresh.onLost(() => drop(fresh));
    return fresh;
  }

  /** Without its connection others may take the buckets at once: nothing is started until they are renewed. */
  function drop(lost: Connection) {
    lost.close().catch(() => {});
    if (connection !== lost) return;
    connection = null;
    for (const lease of held.values()) lease.startUntilMs = Number.NEGATIVE_INFINITY;
  }

  const expiresAt = () => new Date(ports.realNow().getTime() + timings.leaseMs);
  const startUntilMs = (askedMs: number) => askedMs + timings.leaseMs - timings.attemptMs;

  async function renew(on: Connection) {
    const askedMs = ports.monotonicMs();
    const still = new Map((await renewLeases(on, owner, expiresAt())).map(({ bucket, epoch }) => [bucket, epoch]));
    const lost: number[] = [];
    for (const [bucket, lease] of held) {
      if (still.get(bucket) === lease.epoch) lease.startUntilMs = startUntilMs(askedMs);
      else lost.push(bucket);
    }
    for (const bucket of lost) held.delete(bucket);
    // A take whose reply was lost: the row is ours, so it is used.
    for (const [bucket, epoch] of still)
      if (!held.has(bucket)) held.set(bucket, { epoch, startUntilMs: startUntilMs(askedMs), leaving: false });
    if (lost.length > 0) log.warn({ buckets: lost }, "leases.lost");
    renewedMs = askedMs;
  }

  async function share(on: Connection) {
    const fair = Math.ceil(BUCKET_COUNT / Math.max(1, await countDeliverers(on)));
    // The highest go: the lowest are taken first, so what is kept stays in one piece.
    const sorted = [...held.keys()].sort((a, b) => a - b);
    for (const [index, bucket] of sorted.entries()) held.get(bucket)!.leaving = index >= fair;
    const leave = sorted.slice(fair).filter((bucket) => !busy(bucket));
    if (leave.length > 0) {
      await releaseLeases(on, owner, leave);
      for (const bucket of leave) held.delete(bucket);
      log.info({ buckets: leave.length, kept: held.size }, "leases.shared");
    }
    if (held.size >= fair) return;
    const askedMs = ports.monotonicMs();
    const taken = await acquireLeases(on, owner, ports.realNow(), expiresAt(), fair - held.size);
    for (const { bucket, epoch } of taken)
      held.set(bucket, { epoch, startUntilMs: startUntilMs(askedMs), leaving: false });
    if (taken.length > 0) log.info({ buckets: taken.length, held: held.size }, "leases.taken");
  }

  const startable = () => [...held.keys()].filter((bucket) => epochOf(bucket) !== null).length;

  async function tick() {
    const before = startable();
    const on = await connected();
    try {
      await withTimeout(timings.statementMs, async () => {
        if (renewedMs === Number.NEGATIVE_INFINITY) await announceDeliverer(on);
        if (ports.monotonicMs() - renewedMs >= timings.renewMs) await renew(on);
        await share(on);
      });
    } catch (error) {
      drop(on);
      throw error;
    }
    if (startable() > before) onGained?.();
  }

  function epochOf(bucket: number) {
    const lease = held.get(bucket);
    return lease && !lease.leaving && ports.monotonicMs() < lease.startUntilMs ? lease.epoch : null;
  }

  return {
    epochOf,
    tick() {
      ticking ??= tick().finally(() => {
        ticking = null;
      });
      return ticking;
    },
    held: () => [...held.keys()],
    async release() {
      await ticking?.catch(() => {});
      const buckets = [...held.keys()];
      held.clear();
      const on = connection;
      connection = null;
      const give = (by: Tx) => withTimeout(timings.statementMs, () => releaseLeases(by, owner, buckets));
      // When this fails too, the closed connection says the same to the others.
      if (buckets.length > 0) await give(on ?? db).catch(() => (on === null ? null : give(db).catch(() => {})));
      if (on !== null) await withTimeout(timings.statementMs, () => on.close()).catch(() => {});
    },
  };
}

async function withTimeout(limitMs: number, work: () => Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}
