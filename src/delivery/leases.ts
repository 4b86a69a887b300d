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
  /** If the owner hangs; real time. */
  leaseMs: number;
  renewMs: number;
  /** No attempt starts this shortly before the lease can expire. */
  attemptMs: number;
  /** Beyond it, the lease connection is dead. */
  statementMs: number;
}

export const LEASE_TIMINGS: LeaseTimings = { leaseMs: 60_000, renewMs: 10_000, attemptMs: 33_000, statementMs: 5_000 };

export interface Leases {
  /** Null: no attempt may start now. */
  epochOf(bucket: number): number | null;
  /** Renews leases, releases buckets above the fair share, and acquires free ones. Call it about every second. */
  tick(): Promise<void>;
  /** Includes buckets about to be released. */
  held(): number[];
  release(): Promise<void>;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  owner: string;
  timings: LeaseTimings;
  /** Attempts are in flight or unrecorded. */
  isBusy(bucket: number): boolean;
  /** Attempts may start for more buckets. */
  onGained?(): void;
}

interface HeldBucket {
  epoch: number;
  /** Monotonic, because a suspended process must not trust its leases. */
  startUntilMs: number;
  isReleasing: boolean;
}

/** Holds this process's share of the 64 buckets. Others take over at once if it dies, and after `leaseMs` if it hangs. */
export function createLeases({ db, ports, log, owner, timings, isBusy, onGained }: Options): Leases {
  const held = new Map<number, HeldBucket>();
  let connection: Connection | null = null;
  let renewedMs = Number.NEGATIVE_INFINITY;
  let ticking: Promise<void> | null = null;

  async function getConnection(): Promise<Connection> {
    if (connection !== null) return connection;
    const newConnection = await db.connect();
    // Renews the leases first, because other processes treat the loss of the old connection as our end.
    renewedMs = Number.NEGATIVE_INFINITY;
    connection = newConnection;
    newConnection.onLost(() => drop(newConnection));
    return newConnection;
  }

  /** Other processes may take the buckets at once, so no attempt starts until they are renewed. */
  function drop(lostBuckets: Connection) {
    lostBuckets.close().catch(() => {});
    if (connection !== lostBuckets) return;
    connection = null;
    for (const lease of held.values()) lease.startUntilMs = Number.NEGATIVE_INFINITY;
  }

  const expiresAt = () => new Date(ports.realNow().getTime() + timings.leaseMs);
  const startUntilMs = (requestedMs: number) => requestedMs + timings.leaseMs - timings.attemptMs;

  async function renew(leaseConnection: Connection) {
    const requestedMs = ports.monotonicMs();
    const ownedEpochs = new Map(
      (await renewLeases(leaseConnection, owner, expiresAt())).map(({ bucket, epoch }) => [bucket, epoch]),
    );
    const lostBuckets: number[] = [];
    for (const [bucket, lease] of held) {
      if (ownedEpochs.get(bucket) === lease.epoch) lease.startUntilMs = startUntilMs(requestedMs);
      else lostBuckets.push(bucket);
    }
    for (const bucket of lostBuckets) held.delete(bucket);
    // The reply to an acquisition was lost.
    for (const [bucket, epoch] of ownedEpochs)
      if (!held.has(bucket)) held.set(bucket, { epoch, startUntilMs: startUntilMs(requestedMs), isReleasing: false });
    if (lostBuckets.length > 0) log.warn({ buckets: lostBuckets }, "leases.lost");
    renewedMs = requestedMs;
  }

  async function share(leaseConnection: Connection) {
    const fairCount = Math.ceil(BUCKET_COUNT / Math.max(1, await countDeliverers(leaseConnection)));
    // The lowest buckets are acquired first, so each process keeps a contiguous range.
    const sorted = [...held.keys()].sort((a, b) => a - b);
    for (const [index, bucket] of sorted.entries()) held.get(bucket)!.isReleasing = index >= fairCount;
    const released = sorted.slice(fairCount).filter((bucket) => !isBusy(bucket));
    if (released.length > 0) {
      await releaseLeases(leaseConnection, owner, released);
      for (const bucket of released) held.delete(bucket);
      log.info({ buckets: released.length, kept: held.size }, "leases.shared");
    }
    if (held.size >= fairCount) return;
    const requestedMs = ports.monotonicMs();
    const acquired = await acquireLeases(leaseConnection, owner, ports.realNow(), expiresAt(), fairCount - held.size);
    for (const { bucket, epoch } of acquired)
      held.set(bucket, { epoch, startUntilMs: startUntilMs(requestedMs), isReleasing: false });
    if (acquired.length > 0) log.info({ buckets: acquired.length, held: held.size }, "leases.taken");
  }

  const startableCount = () => [...held.keys()].filter((bucket) => epochOf(bucket) !== null).length;

  async function tick() {
    const before = startableCount();
    const leaseConnection = await getConnection();
    try {
      await withTimeout(timings.statementMs, async () => {
        if (renewedMs === Number.NEGATIVE_INFINITY) await announceDeliverer(leaseConnection);
        if (ports.monotonicMs() - renewedMs >= timings.renewMs) await renew(leaseConnection);
        await share(leaseConnection);
      });
    } catch (error) {
      drop(leaseConnection);
      throw error;
    }
    if (startableCount() > before) onGained?.();
  }

  function epochOf(bucket: number) {
    const lease = held.get(bucket);
    return lease && !lease.isReleasing && ports.monotonicMs() < lease.startUntilMs ? lease.epoch : null;
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
      const leaseConnection = connection;
      connection = null;
      const releaseOn = (tx: Tx) => withTimeout(timings.statementMs, () => releaseLeases(tx, owner, buckets));
      // If both fail, closing the connection releases the buckets.
      if (buckets.length > 0)
        await releaseOn(leaseConnection ?? db).catch(() =>
          leaseConnection === null ? null : releaseOn(db).catch(() => {}),
        );
      if (leaseConnection !== null)
        await withTimeout(timings.statementMs, () => leaseConnection.close()).catch(() => {});
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
