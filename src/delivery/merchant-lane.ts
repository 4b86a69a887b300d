import type { Merchant } from "../domain/merchant.ts";
import type { DueDelivery } from "../tables/deliveries.ts";
import { createFullBucket, type RateBucket, tokensLeft } from "./delivery-rate.ts";
import type { DeliveryTarget } from "./send-attempt.ts";

/**
 * What one merchant has on the wire and next in line. Lanes know nothing of each other: that is why a slow merchant
 * costs the others nothing.
 */
export interface Lane {
  merchant: Merchant;
  /** Null when nothing can be sent: no endpoint, or a credential that cannot be read. */
  target: DeliveryTarget | null;
  inFlight: number;
  /** Those of them that may end any moment: see wire.ts. */
  quick: number;
  /** Whether its last attempt was quick, so that the next one probably is. */
  isProven: boolean;
  /** Monotonic: while many lanes hang and this one does, it begins nothing before. */
  restsUntilMs: number;
  /** Events on the wire, or ended and not recorded yet: never read a second time; and when they were due, in service time. */
  busy: Map<string, number>;
  /** Service time before which nothing is due that is not busy or read ahead. */
  floorMs: number;
  /** Monotonic, of the last read or probe that looked below the floor too. */
  wholeReadMs: number;
  /** Rows read ahead and not begun. */
  ahead: { delivery: DueDelivery; readMs: number }[];
  /** How many rows the next read asks for: it grows with a backlog that drains fast. */
  readSize: number;
  reading: boolean;
  /** Monotonic, of the last read that was full; -Infinity when the last one was not. */
  fullReadMs: number;
  /** Service time from which a row may be due; Infinity when none is known, -Infinity when it is time to look. */
  nextDueMs: number;
  /** Withdrawn while a read was under way that may still have seen them. */
  withdrawn: Set<string>;
  timer: NodeJS.Timeout | null;
  timerDueMs: number;
  /** What is known of the endpoint beside `merchant.webhookFailingSince`: since when it fails while that is null, and whether its warning was given. */
  failing: { since: Date | null; warned: boolean };
  rate: RateBucket;
  /** Set while the merchant's rate is used up: until it fires the lane neither reads nor begins. */
  rateTimer: NodeJS.Timeout | null;
}

/** A row may have been withdrawn by another process meanwhile; one older than this is read again. */
const MAX_READ_AHEAD_MS = 1_000;
const READ_SIZE_MAX = 256;

export const createLane = (merchant: Merchant): Lane => ({
  merchant,
  target: null,
  inFlight: 0,
  quick: 0,
  isProven: false,
  restsUntilMs: 0,
  busy: new Map(),
  floorMs: 0,
  wholeReadMs: Number.NEGATIVE_INFINITY,
  ahead: [],
  readSize: merchant.webhookCap,
  reading: false,
  fullReadMs: Number.NEGATIVE_INFINITY,
  nextDueMs: Number.NEGATIVE_INFINITY,
  withdrawn: new Set(),
  timer: null,
  timerDueMs: 0,
  failing: { since: null, warned: false },
  rate: createFullBucket(),
  rateTimer: null,
});

export const hasFreeSlot = (lane: Lane) => lane.inFlight < lane.merchant.webhookCap;

/** Whether there are failures that a success would end. */
export const isFailing = ({ failing, merchant }: Lane) =>
  failing.since !== null || merchant.webhookFailingSince !== null;

/** Something may be due in this lane from `atMs` on, in service time. */
export const noteDue = (lane: Lane, atMs: number) => {
  lane.nextDueMs = Math.min(lane.nextDueMs, atMs);
  if (atMs > Number.NEGATIVE_INFINITY) lane.floorMs = Math.min(lane.floorMs, atMs);
};

/** A row becomes visible at its commit, which comes a little after the moment that it is due from. */
const MAX_COMMIT_DELAY_MS = 5_000;
/** What no hint told us and what took longer to commit is found after this. */
const FULL_READ_INTERVAL_MS = 30_000;

const readFrom = (lane: Lane, monotonicMs: number) =>
  new Date(monotonicMs - lane.wholeReadMs > FULL_READ_INTERVAL_MS ? 0 : Math.max(0, lane.floorMs));

/** From when on a probe for the first due row has to look, right now. */
export function probeFrom(lane: Lane, monotonicMs: number): Date {
  const from = readFrom(lane, monotonicMs);
  if (from.getTime() === 0) lane.wholeReadMs = monotonicMs;
  return from;
}

/** Look at everything again: somebody else may have sent for this merchant meanwhile, or a read failed. */
export const resetReadFloor = (lane: Lane) => {
  lane.wholeReadMs = Number.NEGATIVE_INFINITY;
};

/** Whether it is time to read: something is due, there is room for it, and what was read before runs low. */
export const isReadDue = (lane: Lane, nowMs: number) =>
  !lane.reading && lane.nextDueMs <= nowMs && hasFreeSlot(lane) && lane.ahead.length <= lane.readSize / 4;

/** The next row to begin, or undefined. Rows that waited too long are dropped, to be read again. */
export function takeNext(lane: Lane, monotonicMs: number): DueDelivery | undefined {
  const next = lane.ahead[0];
  if (next === undefined) return undefined;
  if (monotonicMs - next.readMs > MAX_READ_AHEAD_MS) {
    noteDue(lane, next.delivery.dueMs);
    lane.ahead = [];
    noteDue(lane, Number.NEGATIVE_INFINITY);
    return undefined;
  }
  lane.ahead.shift();
  return next.delivery;
}

/** Events that a read must leave out. */
export const excludedEventIds = (lane: Lane) => [
  ...lane.busy.keys(),
  ...lane.ahead.map(({ delivery }) => delivery.eventId),
];

/**
 * Before a read: what is noted as due from now on is beyond what the read can see.
 *
 * @param now  service time
 * @returns from when on to look
 */
export function beginRead(lane: Lane, monotonicMs: number, now: Date, clockRate: number): Date {
  const from = readFrom(lane, monotonicMs);
  lane.reading = true;
  // What was read is to last a moment, and never so long that it grows stale and is read twice.
  const lastedMs = monotonicMs - lane.fullReadMs;
  if (lastedMs < MAX_READ_AHEAD_MS / 4) lane.readSize = Math.min(READ_SIZE_MAX, lane.readSize * 2);
  else if (lastedMs > MAX_READ_AHEAD_MS / 2) lane.readSize = Math.max(lane.merchant.webhookCap, lane.readSize >> 1);
  // More than the rate lets through would grow stale too.
  lane.readSize = Math.max(1, Math.min(lane.readSize, tokensLeft(lane.merchant, lane.rate, monotonicMs)));
  lane.withdrawn.clear();
  lane.nextDueMs = Number.POSITIVE_INFINITY;
  // What the read finds lowers it, and so does what is noted meanwhile.
  lane.floorMs = now.getTime() - MAX_COMMIT_DELAY_MS * clockRate;
  for (const dueMs of lane.busy.values()) lane.floorMs = Math.min(lane.floorMs, dueMs);
  for (const { delivery } of lane.ahead) lane.floorMs = Math.min(lane.floorMs, delivery.dueMs);
  if (from.getTime() === 0) lane.wholeReadMs = monotonicMs;
  return from;
}

/** After a read. `readMs` is the monotonic clock before it. */
export function endRead(lane: Lane, rows: readonly DueDelivery[], readMs: number) {
  lane.reading = false;
  if (rows[0] !== undefined) lane.floorMs = Math.min(lane.floorMs, rows[0].dueMs);
  for (const delivery of rows) if (!lane.withdrawn.has(delivery.eventId)) lane.ahead.push({ delivery, readMs });
  // A full read says that there is more.
  const full = rows.length >= lane.readSize;
  lane.fullReadMs = full ? readMs : Number.NEGATIVE_INFINITY;
  if (full) noteDue(lane, Number.NEGATIVE_INFINITY);
}

/** Forget rows that were withdrawn. */
export function dropWithdrawn(lane: Lane, eventIds: readonly string[]) {
  const gone = new Set(eventIds);
  lane.ahead = lane.ahead.filter(({ delivery }) => !gone.has(delivery.eventId));
  if (lane.reading) for (const id of gone) lane.withdrawn.add(id);
}
