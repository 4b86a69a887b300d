import { setTimeout as sleepFor } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import { type DueDelivery, dueDeliveries, firstDeliveriesDue } from "../tables/deliveries.ts";
import type { EndedAttempt } from "../tables/delivery-attempts.ts";
import type { SecretKeys } from "../tables/secret-box.ts";
import { createAttemptRecorder } from "./attempt-recorder.ts";
import { spendToken, tokensLeft } from "./delivery-rate.ts";
import { createDueDeliveryReader } from "./due-delivery-reader.ts";
import { createEndpointHealth } from "./endpoint-health.ts";
import { createExhaustionPause } from "./exhaustion-pause.ts";
import type { Send } from "./https/https-sender.ts";
import { createInFlightLimiter } from "./in-flight-limits.ts";
import { createLaneTimers } from "./lane-timers.ts";
import { createLeases, LEASE_TIMINGS, type LeaseTimings } from "./leases.ts";
import {
  dropWithdrawn,
  excludedEventIds,
  hasFreeSlot,
  isFailing,
  isReadDue,
  type Lane,
  noteDue,
  probeFrom,
  resetReadFloor,
  takeNext,
} from "./merchant-lane.ts";
import { createLanes, type Lanes } from "./merchant-lanes.ts";
import { repeatWork } from "./repeat.ts";
import { type AttemptFigures, attemptFiguresOf, logAttempt, sendAttempt, type UnsentAttempt } from "./send-attempt.ts";

export interface DelivererOptions {
  db: Database;
  ports: Ports;
  log: Log;
  send: Send;
  secretKeys: SecretKeys;
  /** New at each start of the process. */
  owner: string;
  timings?: Partial<DelivererTimings>;
  /** Virtual time in a simulation. */
  sleep?(ms: number): Promise<unknown>;
  /** An event was delivered, exhausted or found withdrawn. */
  onEnded?(): void;
  metrics?: { onAttempt(figures: AttemptFigures): void };
}

export interface DelivererTimings extends LeaseTimings {
  leaseTickMs: number;
  /** Until a changed setting is noticed. */
  refreshMs: number;
  /** Until another process's event is noticed. */
  sweepMs: number;
}

export interface Deliverer {
  start(): void;
  /** Looks at once for due deliveries, of all merchants by default. */
  wake(merchantId?: string): void;
  /** Whether this process owns the merchant's bucket. */
  sendsFor(merchantId: string): boolean;
  figures(): { leases: number; inFlight: number; unsent: number };
  /** Skips withdrawn events even if they were read ahead. */
  dropWithdrawn(merchantId: string, eventIds: readonly string[]): void;
  /** Waits for attempts in flight and their records, and releases the leases. Attempts that take longer are repeated later. */
  stop(graceMs?: number): Promise<void>;
  /**
   * Returns the number of attempts; for tests and simulation. Throws only after all merchants have ended, so that the next call
   * does not read rows that this one is about to send.
   */
  deliverDue(): Promise<number>;
}

const TIMINGS: DelivererTimings = { ...LEASE_TIMINGS, leaseTickMs: 1_000, refreshMs: 1_000, sweepMs: 2_000 };
/** Unrecorded attempts. At the limit, no new attempt starts. */
const PENDING_MAX = 5_000;
const SWEEP_PART_COUNT = 4;
const READ_ROUND_SIZE = 1_000;
/** An attempt can take 30 s, and a process must exit 35 s after SIGTERM. */
const STOP_GRACE_MS = 31_000;
const LONG_AGO = new Date(0);

/**
 * A lane holds one merchant's due deliveries. `advance` starts the attempts that a lane may start, or arranges when to look again.
 * `sweep` finds deliveries that no notification announced.
 */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { db, ports, log, send, secretKeys, owner } = options;
  const timings = { ...TIMINGS, ...options.timings };
  const lanes = createLanes(db, log, secretKeys, ports.monotonicMs);
  /** Lanes with an attempt to start. Proven and unproven lanes have separate slots. */
  const [ready, unproven] = [new Set<Lane>(), new Set<Lane>()];
  const queueOf = (lane: Lane) => (lane.isProven ? ready : unproven);
  let state: "new" | "running" | "stopping" | "stopped" = "new";
  let loops: { stop(): void }[] = [];

  const leases = createLeases({ db, ports, log, owner, timings, isBusy: lanes.isBusy, onGained: rescanAll });
  const recorder = createAttemptRecorder({ db, ports, log, sleep: options.sleep ?? sleepFor, onRecorded });
  const health = createEndpointHealth({ db, ports, log });
  const limiter = createInFlightLimiter(ports.monotonicMs, advanceAll);
  const timers = createLaneTimers(ports, advance);
  const exhaustionPause = createExhaustionPause(log, rescanAll);
  const isFull = () => limiter.isFull(true);
  const reader = createDueDeliveryReader({ db, ports, log, maySend, isFull, onRead: advance });

  function maySend(lane: Lane) {
    return lane.target !== null && !lane.merchant.webhookPaused && leases.epochOf(lane.merchant.bucket) !== null;
  }

  function advance(lane: Lane) {
    if (state !== "running" || !maySend(lane) || timers.waitsForRate(lane)) return;
    if (lane.prefetched.length > 0 && hasFreeSlot(lane)) {
      queueOf(lane).add(lane);
      pump();
    }
    const nowMs = ports.now().getTime();
    if (isReadDue(lane, nowMs)) reader.add(lane);
    else if (lane.nextDueMs > nowMs) timers.wakeAt(lane, (lane.nextDueMs - nowMs) / ports.clockRate);
  }

  /** And then lanes that waited for the freed slots. */
  function advanceAll(...freedLanes: Lane[]) {
    for (const lane of freedLanes) advance(lane);
    pump();
    reader.readNext();
  }

  function pump() {
    startAttempts(ready, true);
    startAttempts(unproven, false);
  }

  function startAttempts(queue: Set<Lane>, isProven: boolean) {
    for (const lane of queue) {
      if (exhaustionPause.isOn() || limiter.isFull(isProven)) return;
      if (recorder.pending() >= PENDING_MAX || state !== "running") return;
      queue.delete(lane);
      const epoch = leases.epochOf(lane.merchant.bucket);
      if (epoch === null || !maySend(lane) || !limiter.mayBegin(lane) || timers.waitsForRate(lane)) continue;
      const delivery = takeNext(lane, ports.monotonicMs());
      if (delivery === undefined) {
        reader.add(lane);
        continue;
      }
      begin(lane, delivery, epoch).then(() => advanceAll(lane), logCrash);
      // Added at the end, so this loop reaches the lane again after the others.
      if (lane.prefetched.length > 0 && limiter.mayBegin(lane)) queueOf(lane).add(lane);
    }
  }

  const warn = (name: string) => (error: unknown) => log.warn(errorFields(error), `${name}.failed`);
  const logCrash = (error: unknown) => log.error(errorFields(error), "delivery.crashed");

  async function begin(lane: Lane, delivery: DueDelivery, epoch: number) {
    const { merchant, target } = lane;
    if (target === null) return;
    lane.busy.set(delivery.eventId, delivery.dueMs);
    spendToken(merchant, lane.rateBucket);
    const end = limiter.begin(lane);
    let attempt: EndedAttempt | UnsentAttempt;
    try {
      attempt = await sendAttempt(merchant, target, delivery, epoch, send, ports);
    } finally {
      end();
    }
    if ("unsent" in attempt) {
      lane.busy.delete(delivery.eventId);
      noteDue(lane, delivery.dueMs);
      return exhaustionPause.begin(attempt.unsent);
    }
    exhaustionPause.end();
    if (attempt.success && isFailing(lane)) await health.recordSuccess(lane, epoch);
    if (state === "stopped") return;
    recorder.add(attempt);
    const latenessMs = attempt.startedAt.getTime() - delivery.dueMs;
    options.metrics?.onAttempt({ ...attemptFiguresOf(attempt), latenessMs });
    logAttempt(log, attempt);
  }

  function onRecorded(batch: readonly EndedAttempt[], unrecorded: readonly EndedAttempt[]) {
    const changedLanes = new Set<Lane>();
    const unrecordedAttempts = new Set(unrecorded);
    for (const attempt of batch) {
      const lane = lanes.get(attempt.merchantId);
      if (lane === undefined) continue;
      lane.busy.delete(attempt.eventId);
      changedLanes.add(lane);
      if (unrecordedAttempts.has(attempt)) continue;
      if (attempt.dueAt !== null) noteDue(lane, attempt.dueAt.getTime());
      if (!attempt.success) health.recordFailure(lane, attempt);
    }
    advanceAll(...changedLanes);
    if (unrecorded.length > 0 || batch.some((attempt) => attempt.ends !== null)) options.onEnded?.();
  }

  /** Finds due deliveries that no notification announced. Correctness depends on it. */
  async function sweep(part: number | null) {
    const candidates = [...lanes.all()].filter(
      (lane, index) =>
        (part === null || index % SWEEP_PART_COUNT === part) && maySend(lane) && hasFreeSlot(lane) && !lane.isReading,
    );
    // Read before a pause, or before the lease was lost.
    advanceAll(...candidates.filter((lane) => lane.prefetched.length > 0));
    const idleLanes = candidates.filter((lane) => lane.prefetched.length === 0 && !lane.isReading);
    if (idleLanes.length > 0) await probeLanes(db, lanes, idleLanes, ports.monotonicMs(), advance);
  }

  function rescanAll() {
    for (const lane of lanes.all()) resetReadFloor(lane);
    if (state === "running") sweep(null).catch(warn("sweep"));
  }

  async function deliverDue() {
    await leases.tick();
    await lanes.refresh();
    const counts = await Promise.allSettled([...lanes.all()].map(deliverLane));
    await recorder.waitUntilIdle().then(health.waitUntilIdle);
    return sumOrThrow(counts);
  }

  async function deliverLane(lane: Lane) {
    const epoch = leases.epochOf(lane.merchant.bucket);
    if (epoch === null || !maySend(lane)) return 0;
    const limit = Math.min(READ_ROUND_SIZE, tokensLeft(lane.merchant, lane.rateBucket, ports.monotonicMs()));
    const request = { merchantId: lane.merchant.id, from: LONG_AGO, limit, busy: excludedEventIds(lane) };
    const [deliveries = []] = await dueDeliveries(db, ports.now(), [request]);
    const waiting = deliveries.values();
    const worker = async () => {
      for (const delivery of waiting) await begin(lane, delivery, epoch);
    };
    await Promise.all(Array.from({ length: lane.merchant.webhookCap }, worker));
    return deliveries.length;
  }

  return {
    start() {
      if (state !== "new") throw new Error("a deliverer can be started only once");
      state = "running";
      loops = startLoops(timings, leases.tick, lanes.refresh, sweep, warn);
      // Before the loops.
      void leases
        .tick()
        .then(lanes.refresh)
        .then(() => sweep(null))
        .catch(() => {});
    },
    wake(merchantId) {
      if (state !== "running") return;
      if (merchantId === undefined) return rescanAll();
      const notice = (lane: Lane) => {
        noteDue(lane, Number.NEGATIVE_INFINITY);
        advance(lane);
      };
      const lane = lanes.get(merchantId);
      if (lane !== undefined) return notice(lane);
      void lanes.refresh().then(() => {
        const newLane = lanes.get(merchantId);
        if (newLane !== undefined && state === "running") notice(newLane);
      }, warn("merchants"));
    },
    figures: () => ({ leases: leases.held().length, inFlight: limiter.inFlight(), unsent: exhaustionPause.unsent() }),
    sendsFor(merchantId) {
      const lane = lanes.get(merchantId);
      return lane !== undefined && leases.epochOf(lane.merchant.bucket) !== null;
    },
    dropWithdrawn(merchantId, eventIds) {
      const lane = lanes.get(merchantId);
      if (lane !== undefined) dropWithdrawn(lane, eventIds);
    },
    async stop(graceMs = STOP_GRACE_MS) {
      state = "stopping";
      for (const loop of loops) loop.stop();
      timers.clear(lanes.all());
      exhaustionPause.clear();
      const deadlineMs = ports.monotonicMs() + graceMs;
      const outstanding = () => limiter.inFlight() + recorder.pending() - recorder.postponed();
      while (outstanding() > 0 && ports.monotonicMs() < deadlineMs)
        await new Promise((resolve) => setTimeout(resolve, 20));
      state = "stopped";
      recorder.abandon();
      await leases.release();
    },
    deliverDue,
  };
}

function startLoops(
  timings: DelivererTimings,
  tickLeases: () => Promise<void>,
  refreshLanes: () => Promise<void>,
  sweep: (part: number) => Promise<void>,
  warn: (name: string) => (error: unknown) => void,
) {
  let part = 0;
  return [
    repeatWork(timings.leaseTickMs, tickLeases, warn("leases")),
    repeatWork(timings.refreshMs, refreshLanes, warn("merchants")),
    repeatWork(timings.sweepMs / SWEEP_PART_COUNT, () => sweep(part++ % SWEEP_PART_COUNT), warn("sweep")),
  ];
}

const sumOrThrow = (results: readonly PromiseSettledResult<number>[]) =>
  results.reduce((sum, result) => {
    if (result.status === "rejected") throw result.reason;
    return sum + result.value;
  }, 0);

/** Notes each lane's next due time, and advances it. */
async function probeLanes(
  db: Database,
  lanes: Lanes,
  idleLanes: readonly Lane[],
  monotonicMs: number,
  advance: (lane: Lane) => void,
) {
  const probes = idleLanes.map((lane) => ({ id: lane.merchant.id, from: probeFrom(lane, monotonicMs) }));
  const rows = await firstDeliveriesDue(db, probes);
  for (const { merchantId, dueAt } of rows) {
    const lane = lanes.get(merchantId);
    if (lane === undefined) continue;
    if (dueAt !== null) noteDue(lane, dueAt.getTime());
    advance(lane);
  }
}
