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
import { createLanes } from "./merchant-lanes.ts";
import { repeatWork } from "./repeat.ts";
import { type AttemptFigures, attemptFiguresOf, logAttempt, sendAttempt, type UnsentAttempt } from "./send-attempt.ts";

export interface DelivererOptions {
  db: Database;
  ports: Ports;
  log: Log;
  send: Send;
  secretKeys: SecretKeys;
  /** UUID of this process, a new one at each start. */
  owner: string;
  timings?: Partial<DelivererTimings>;
  /** How the recorder waits out an outage: real milliseconds, or those of a simulation. */
  sleep?(ms: number): Promise<unknown>;
  /** After attempts were recorded of which some were an event's last, or of one that was withdrawn: the deciding loop has something to do. */
  onEnded?(): void;
  metrics?: { onAttempt(figures: AttemptFigures): void };
}

export interface DelivererTimings extends LeaseTimings {
  leaseTickMs: number;
  /** How soon a changed setting or a new merchant is noticed. */
  refreshMs: number;
  /** How soon an event made by another process is noticed, at the latest. */
  sweepMs: number;
}

export interface Deliverer {
  start(): void;
  /** There is something new for this merchant, or for anybody: look at once. */
  wake(merchantId?: string): void;
  /** Whether this process is the one that sends for the merchant now, so that nobody else has to be told. */
  sendsFor(merchantId: string): boolean;
  /** Buckets owned, attempts on the wire, and attempts that this process could not send, for metrics. */
  figures(): { leases: number; inFlight: number; unsent: number };
  /** These events were withdrawn: do not begin them, even if they were read already. */
  withdrawn(merchantId: string, eventIds: readonly string[]): void;
  /** Start nothing new, wait for what is on the wire, record it, give the leases back. What takes longer is made again later. */
  stop(graceMs?: number): Promise<void>;
  /** One round without the loop, for tests and simulation: sends what is due now and records it; returns how many attempts. Where it fails for a merchant it throws once it has ended for all: the next round would read again what this one is about to send. */
  deliverDue(): Promise<number>;
}

const TIMINGS: DelivererTimings = { ...LEASE_TIMINGS, leaseTickMs: 1_000, refreshMs: 1_000, sweepMs: 2_000 };
/** Ends that wait for the database; beyond it nothing new is begun. */
const PENDING_MAX = 5_000;
const SWEEP_PART_COUNT = 4;
const READ_ROUND_SIZE = 1_000;
/** An attempt may take 30 s; SIGTERM to exit may take 35. */
const STOP_GRACE_MS = 31_000;
const LONG_AGO = new Date(0);

/** The life of an event from its deliveries row to its last log line. */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { db, ports, log, send, secretKeys, owner } = options;
  const timings = { ...TIMINGS, ...options.timings };
  const lanes = createLanes(db, log, secretKeys, ports.monotonicMs);
  /** Lanes with something to begin, apart because they have slots apart. */
  const [ready, unproven] = [new Set<Lane>(), new Set<Lane>()];
  const lineOf = (lane: Lane) => (lane.isProven ? ready : unproven);
  let state: "new" | "running" | "stopping" | "stopped" = "new";
  let loops: { stop(): void }[] = [];

  const leases = createLeases({ db, ports, log, owner, timings, busy: lanes.busy, onGained: lookEverywhere });
  const recorder = createAttemptRecorder({ db, ports, log, sleep: options.sleep ?? sleepFor, onRecorded });
  const health = createEndpointHealth({ db, ports, log });
  const wire = createInFlightLimiter(ports.monotonicMs, advanceAll);
  const timers = createLaneTimers(ports, advance);
  const hold = createExhaustionPause(log, lookEverywhere);
  const reader = createDueDeliveryReader({ db, ports, log, maySend, isFull: () => wire.isFull(true), onRead: advance });

  function maySend(lane: Lane) {
    return lane.target !== null && !lane.merchant.webhookPaused && leases.epochOf(lane.merchant.bucket) !== null;
  }

  /** Begin, read or wait: whatever this lane can do now. */
  function advance(lane: Lane) {
    if (state !== "running" || !maySend(lane) || timers.waitsForRate(lane)) return;
    if (lane.ahead.length > 0 && hasFreeSlot(lane)) {
      lineOf(lane).add(lane);
      pump();
    }
    const nowMs = ports.now().getTime();
    if (isReadDue(lane, nowMs)) reader.add(lane);
    else if (lane.nextDueMs > nowMs) timers.wakeAt(lane, (lane.nextDueMs - nowMs) / ports.clockRate);
  }

  /** This lane first, then whoever waited for the room that it left. */
  function advanceAll(...some: Lane[]) {
    for (const lane of some) advance(lane);
    pump();
    reader.readNext();
  }

  /** One attempt per lane in turn, as long as there is room. */
  function pump() {
    serve(ready, true);
    serve(unproven, false);
  }

  function serve(line: Set<Lane>, isProven: boolean) {
    for (const lane of line) {
      if (hold.isOn() || wire.isFull(isProven) || recorder.pending() >= PENDING_MAX || state !== "running") return;
      line.delete(lane);
      const epoch = leases.epochOf(lane.merchant.bucket);
      if (epoch === null || !maySend(lane) || !wire.mayBegin(lane) || timers.waitsForRate(lane)) continue;
      const delivery = takeNext(lane, ports.monotonicMs());
      if (delivery === undefined) {
        reader.add(lane);
        continue;
      }
      begin(lane, delivery, epoch).then(() => advanceAll(lane), crashed);
      // At the end of the line, where this very loop comes by again.
      if (lane.ahead.length > 0 && wire.mayBegin(lane)) lineOf(lane).add(lane);
    }
  }

  const warn = (name: string) => (error: unknown) => log.warn(errorFields(error), `${name}.failed`);
  const crashed = (error: unknown) => log.error(errorFields(error), "delivery.crashed");

  async function begin(lane: Lane, delivery: DueDelivery, epoch: number) {
    const { merchant, target } = lane;
    if (target === null) return;
    lane.busy.set(delivery.eventId, delivery.dueMs);
    spendToken(merchant, lane.rate);
    const end = wire.begin(lane);
    let ended: EndedAttempt | UnsentAttempt;
    try {
      ended = await sendAttempt(merchant, target, delivery, epoch, send, ports);
    } finally {
      end();
    }
    if ("unsent" in ended) {
      lane.busy.delete(delivery.eventId);
      noteDue(lane, delivery.dueMs);
      return hold.begin(ended.unsent);
    }
    hold.end();
    if (ended.success && isFailing(lane)) await health.succeeded(lane, epoch);
    // Cut short by our own end: it is made again under its number.
    if (state === "stopped") return;
    recorder.add(ended);
    const latenessMs = ended.startedAt.getTime() - delivery.dueMs;
    options.metrics?.onAttempt({ ...attemptFiguresOf(ended), latenessMs });
    logAttempt(log, ended);
  }

  function onRecorded(batch: readonly EndedAttempt[], leftOut: readonly EndedAttempt[]) {
    const touched = new Set<Lane>();
    const unrecorded = new Set(leftOut);
    for (const ended of batch) {
      const lane = lanes.get(ended.merchantId);
      if (lane === undefined) continue;
      lane.busy.delete(ended.eventId);
      touched.add(lane);
      if (unrecorded.has(ended)) continue;
      if (ended.dueAt !== null) noteDue(lane, ended.dueAt.getTime());
      if (!ended.success) health.failed(lane, ended);
    }
    advanceAll(...touched);
    if (leftOut.length > 0 || batch.some((ended) => ended.ends !== null)) options.onEnded?.();
  }

  /** Correctness rests on this: it finds whatever no hint told us, a part of the lanes at a time. */
  async function sweep(part: number | null) {
    const able = [...lanes.all()].filter(
      (lane, index) =>
        (part === null || index % SWEEP_PART_COUNT === part) && maySend(lane) && hasFreeSlot(lane) && !lane.reading,
    );
    // Read before a pause or a lost lease, and nobody came back to it.
    advanceAll(...able.filter((lane) => lane.ahead.length > 0));
    const idle = able.filter((lane) => lane.ahead.length === 0 && !lane.reading);
    if (idle.length === 0) return;
    const probes = idle.map((lane) => ({ id: lane.merchant.id, from: probeFrom(lane, ports.monotonicMs()) }));
    const rows = await firstDeliveriesDue(db, probes);
    for (const { merchantId, dueAt } of rows) {
      const lane = lanes.get(merchantId);
      if (lane === undefined) continue;
      if (dueAt !== null) noteDue(lane, dueAt.getTime());
      advance(lane);
    }
  }

  function lookEverywhere() {
    for (const lane of lanes.all()) resetReadFloor(lane);
    if (state === "running") sweep(null).catch(warn("sweep"));
  }

  async function deliverDue() {
    await leases.tick();
    await lanes.refresh();
    const parts = await Promise.allSettled([...lanes.all()].map(deliverLane));
    await recorder.idle();
    return parts.reduce((sum, part) => {
      if (part.status === "rejected") throw part.reason;
      return sum + part.value;
    }, 0);
  }

  async function deliverLane(lane: Lane) {
    const epoch = leases.epochOf(lane.merchant.bucket);
    if (epoch === null || !maySend(lane)) return 0;
    const limit = Math.min(READ_ROUND_SIZE, tokensLeft(lane.merchant, lane.rate, ports.monotonicMs()));
    const ask = { merchantId: lane.merchant.id, from: LONG_AGO, limit, busy: excludedEventIds(lane) };
    const [due = []] = await dueDeliveries(db, ports.now(), [ask]);
    const waiting = due.values();
    const worker = async () => {
      for (const delivery of waiting) await begin(lane, delivery, epoch);
    };
    await Promise.all(Array.from({ length: lane.merchant.webhookCap }, worker));
    return due.length;
  }

  return {
    start() {
      if (state !== "new") throw new Error("a deliverer starts once");
      state = "running";
      const loop = (name: string, everyMs: number, work: () => Promise<void>) => repeatWork(everyMs, work, warn(name));
      let part = 0;
      loops = [
        loop("leases", timings.leaseTickMs, leases.tick),
        loop("merchants", timings.refreshMs, lanes.refresh),
        loop("sweep", timings.sweepMs / SWEEP_PART_COUNT, () => sweep(part++ % SWEEP_PART_COUNT)),
      ];
      // Without waiting for the first ticks.
      void leases
        .tick()
        .then(lanes.refresh)
        .then(() => sweep(null))
        .catch(() => {});
    },
    wake(merchantId) {
      if (state !== "running") return;
      if (merchantId === undefined) return lookEverywhere();
      const notice = (lane: Lane) => {
        noteDue(lane, Number.NEGATIVE_INFINITY);
        advance(lane);
      };
      const lane = lanes.get(merchantId);
      if (lane !== undefined) return notice(lane);
      // A merchant as new as its first event.
      void lanes.refresh().then(() => {
        const fresh = lanes.get(merchantId);
        if (fresh !== undefined && state === "running") notice(fresh);
      }, warn("merchants"));
    },
    figures: () => ({ leases: leases.held().length, inFlight: wire.inFlight(), unsent: hold.unsent() }),
    sendsFor(merchantId) {
      const lane = lanes.get(merchantId);
      return lane !== undefined && leases.epochOf(lane.merchant.bucket) !== null;
    },
    withdrawn(merchantId, eventIds) {
      const lane = lanes.get(merchantId);
      if (lane !== undefined) dropWithdrawn(lane, eventIds);
    },
    async stop(graceMs = STOP_GRACE_MS) {
      state = "stopping";
      for (const loop of loops) loop.stop();
      timers.clear(lanes.all());
      hold.clear();
      const deadlineMs = ports.monotonicMs() + graceMs;
      const open = () => wire.inFlight() + recorder.pending() - recorder.setAside();
      while (open() > 0 && ports.monotonicMs() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 20));
      state = "stopped";
      recorder.abandon();
      await leases.release();
    },
    deliverDue,
  };
}
