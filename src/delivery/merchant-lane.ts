import type { Merchant } from "../domain/merchant.ts";
import type { DueDelivery } from "../tables/deliveries.ts";
import { createFullBucket, type RateBucket, tokensLeft } from "./delivery-rate.ts";
import type { DeliveryTarget } from "./send-attempt.ts";

/** Deliveries in flight and read ahead. */
export interface Lane {
  merchant: Merchant;
  /** Null if there is no endpoint, or its credential cannot be read. */
  target: DeliveryTarget | null;
  inFlight: number;
  /** See `InFlightLimits`. */
  quickCount: number;
  /** The last attempt was quick. */
  isProven: boolean;
  /** Monotonic. Only while many lanes hang. */
  restsUntilMs: number;
  /** Due times of events in flight, or ended and not recorded. Reads exclude them. */
  busy: Map<string, number>;
  /** Service time before which every due row is busy or read ahead. */
  floorMs: number;
  /** Monotonic. The last read or probe that also looked below the floor. */
  lastFullScanMs: number;
  /** Not started. `readMs` is monotonic. */
  prefetched: { delivery: DueDelivery; readMs: number }[];
  /** Grows while a backlog drains fast. */
  readSize: number;
  isReading: boolean;
  /** Monotonic. The last read, if it returned as many rows as requested. */
  lastFullBatchMs: number;
  /** Service time from which a row may be due; Infinity if none is known, -Infinity to read now. */
  nextDueMs: number;
  /** During a read that may still return them. */
  withdrawn: Set<string>;
  timer: NodeJS.Timeout | null;
  timerDueMs: number;
  /** Failures missing in `merchant.webhookFailingSince`. */
  failing: { since: Date | null; warned: boolean };
  rateBucket: RateBucket;
  /** While the rate is used up. */
  rateTimer: NodeJS.Timeout | null;
}

/** Another process may have withdrawn older rows. */
const MAX_READ_AHEAD_MS = 1_000;
const READ_SIZE_MAX = 256;

export const createLane = (merchant: Merchant): Lane => ({
  merchant,
  target: null,
  inFlight: 0,
  quickCount: 0,
  isProven: false,
  restsUntilMs: 0,
  busy: new Map(),
  floorMs: 0,
  lastFullScanMs: Number.NEGATIVE_INFINITY,
  prefetched: [],
  readSize: merchant.webhookCap,
  isReading: false,
  lastFullBatchMs: Number.NEGATIVE_INFINITY,
  nextDueMs: Number.NEGATIVE_INFINITY,
  withdrawn: new Set(),
  timer: null,
  timerDueMs: 0,
  failing: { since: null, warned: false },
  rateBucket: createFullBucket(),
  rateTimer: null,
});

export const hasFreeSlot = (lane: Lane) => lane.inFlight < lane.merchant.webhookCap;

/** A success would end the failures. */
export const isFailing = ({ failing, merchant }: Lane) =>
  failing.since !== null || merchant.webhookFailingSince !== null;

/** @param atMs  service time */
export const noteDue = (lane: Lane, atMs: number) => {
  lane.nextDueMs = Math.min(lane.nextDueMs, atMs);
  if (atMs > Number.NEGATIVE_INFINITY) lane.floorMs = Math.min(lane.floorMs, atMs);
};

/** From a row's due time until its transaction commits. */
const MAX_COMMIT_DELAY_MS = 5_000;
/** Finds unannounced rows that took longer to commit. */
const FULL_SCAN_INTERVAL_MS = 30_000;

const readFrom = (lane: Lane, monotonicMs: number) =>
  new Date(monotonicMs - lane.lastFullScanMs > FULL_SCAN_INTERVAL_MS ? 0 : Math.max(0, lane.floorMs));

export function probeFrom(lane: Lane, monotonicMs: number): Date {
  const from = readFrom(lane, monotonicMs);
  if (from.getTime() === 0) lane.lastFullScanMs = monotonicMs;
  return from;
}

/** Call it when another process may have sent for this merchant, or a read failed. */
export const resetReadFloor = (lane: Lane) => {
  lane.lastFullScanMs = Number.NEGATIVE_INFINITY;
};

export const isReadDue = (lane: Lane, nowMs: number) =>
  !lane.isReading && lane.nextDueMs <= nowMs && hasFreeSlot(lane) && lane.prefetched.length <= lane.readSize / 4;

/** Stale rows are dropped, to be read again. */
export function takeNext(lane: Lane, monotonicMs: number): DueDelivery | undefined {
  const next = lane.prefetched[0];
  if (next === undefined) return undefined;
  if (monotonicMs - next.readMs > MAX_READ_AHEAD_MS) {
    noteDue(lane, next.delivery.dueMs);
    lane.prefetched = [];
    noteDue(lane, Number.NEGATIVE_INFINITY);
    return undefined;
  }
  lane.prefetched.shift();
  return next.delivery;
}

export const excludedEventIds = (lane: Lane) => [
  ...lane.busy.keys(),
  ...lane.prefetched.map(({ delivery }) => delivery.eventId),
];

/**
 * Due times noted from now on are beyond what the read sees.
 *
 * @returns the service time from which to read
 */
export function beginRead(lane: Lane, monotonicMs: number, now: Date, clockRate: number): Date {
  const from = readFrom(lane, monotonicMs);
  lane.isReading = true;
  // Rows should last a while, but not become stale and be read twice.
  const lastedMs = monotonicMs - lane.lastFullBatchMs;
  if (lastedMs < MAX_READ_AHEAD_MS / 4) lane.readSize = Math.min(READ_SIZE_MAX, lane.readSize * 2);
  else if (lastedMs > MAX_READ_AHEAD_MS / 2) lane.readSize = Math.max(lane.merchant.webhookCap, lane.readSize >> 1);
  // Rows beyond the rate limit would become stale too.
  lane.readSize = Math.max(1, Math.min(lane.readSize, tokensLeft(lane.merchant, lane.rateBucket, monotonicMs)));
  lane.withdrawn.clear();
  lane.nextDueMs = Number.POSITIVE_INFINITY;
  // Lowered by this read's rows, and by due times noted meanwhile.
  lane.floorMs = now.getTime() - MAX_COMMIT_DELAY_MS * clockRate;
  for (const dueMs of lane.busy.values()) lane.floorMs = Math.min(lane.floorMs, dueMs);
  for (const { delivery } of lane.prefetched) lane.floorMs = Math.min(lane.floorMs, delivery.dueMs);
  if (from.getTime() === 0) lane.lastFullScanMs = monotonicMs;
  return from;
}

/** @param readMs  monotonic time before the read */
export function endRead(lane: Lane, rows: readonly DueDelivery[], readMs: number) {
  lane.isReading = false;
  if (rows[0] !== undefined) lane.floorMs = Math.min(lane.floorMs, rows[0].dueMs);
  for (const delivery of rows) if (!lane.withdrawn.has(delivery.eventId)) lane.prefetched.push({ delivery, readMs });
  // There are more rows.
  const isFull = rows.length >= lane.readSize;
  lane.lastFullBatchMs = isFull ? readMs : Number.NEGATIVE_INFINITY;
  if (isFull) noteDue(lane, Number.NEGATIVE_INFINITY);
}

export function dropWithdrawn(lane: Lane, eventIds: readonly string[]) {
  const withdrawnIds = new Set(eventIds);
  lane.prefetched = lane.prefetched.filter(({ delivery }) => !withdrawnIds.has(delivery.eventId));
  if (lane.isReading) for (const id of withdrawnIds) lane.withdrawn.add(id);
}
