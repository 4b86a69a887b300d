import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import { dueDeliveries, firstDeliveriesDue } from "../tables/deliveries.ts";
import {
  beginRead,
  endRead,
  excludedEventIds,
  isReadDue,
  type Lane,
  noteDue,
  resetReadFloor,
} from "./merchant-lane.ts";

/** For several lanes at once. */
export interface DueDeliveryReader {
  add(lane: Lane): void;
  readNext(): void;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  maySend(lane: Lane): boolean;
  isFull(): boolean;
  onRead(lane: Lane): void;
}

const MAX_CONCURRENT_READS = 2;
/** A single lane may request more. */
const MAX_ROWS_PER_READ = 512;
const READ_RETRY_MS = 1_000;

/** Reads an added lane as soon as slots are free, and retries a failed read after a second. */
export function createDueDeliveryReader({ db, ports, log, maySend, isFull, onRead }: Options): DueDeliveryReader {
  const waiting = new Set<Lane>();
  let reading = 0;

  function readNext() {
    while (reading < MAX_CONCURRENT_READS && waiting.size > 0 && !isFull()) {
      const lanes = nextBatch(ports.now().getTime());
      if (lanes.length === 0) return;
      reading++;
      void readAhead(lanes).then(() => {
        reading--;
        readNext();
      });
    }
  }

  function nextBatch(nowMs: number): Lane[] {
    const lanes: Lane[] = [];
    let rows = 0;
    for (const lane of waiting) {
      if (lanes.length > 0 && rows + lane.readSize > MAX_ROWS_PER_READ) break;
      waiting.delete(lane);
      if (!maySend(lane) || !isReadDue(lane, nowMs)) continue;
      rows += lane.readSize;
      lanes.push(lane);
    }
    return lanes;
  }

  async function readAhead(lanes: readonly Lane[]) {
    const readMs = ports.monotonicMs();
    const now = ports.now();
    const requests = lanes.map((lane) => {
      const from = beginRead(lane, readMs, now, ports.clockRate);
      return { merchantId: lane.merchant.id, from, limit: lane.readSize, busy: excludedEventIds(lane) };
    });
    try {
      const dueByLane = await dueDeliveries(db, now, requests);
      for (const [index, lane] of lanes.entries()) endRead(lane, dueByLane[index]!, readMs);
      for (const lane of lanes) onRead(lane);
      const emptiedLanes = lanes.filter((_, index) => dueByLane[index]!.length < requests[index]!.limit);
      if (emptiedLanes.length > 0) await probeNextDue(emptiedLanes, now);
    } catch (error) {
      if (lanes.length > 1 && !isOutage(error)) return await readOneByOne(lanes);
      for (const lane of lanes) lane.isReading = false;
      postponeRead(lanes, error);
    }
  }

  /** Isolates a merchant that cannot be read. */
  async function readOneByOne(lanes: readonly Lane[]) {
    for (const lane of lanes) {
      resetReadFloor(lane);
      await readAhead([lane]);
    }
  }

  async function probeNextDue(lanes: readonly Lane[], now: Date) {
    const from = new Date(now.getTime() + 1);
    try {
      const probes = lanes.map(({ merchant }) => ({ id: merchant.id, from }));
      const rows = await firstDeliveriesDue(db, probes);
      const dueAt = new Map(rows.map((row) => [row.merchantId, row.dueAt]));
      for (const lane of lanes) {
        noteDue(lane, dueAt.get(lane.merchant.id)?.getTime() ?? Number.POSITIVE_INFINITY);
        onRead(lane);
      }
    } catch (error) {
      postponeRead(lanes, error);
    }
  }

  function postponeRead(lanes: readonly Lane[], error: unknown) {
    const merchantIds = lanes.map(({ merchant }) => merchant.id);
    log.warn({ ...errorFields(error), merchantIds }, "deliveries.read-failed");
    for (const lane of lanes) {
      resetReadFloor(lane);
      noteDue(lane, ports.now().getTime() + READ_RETRY_MS * ports.clockRate);
      onRead(lane);
    }
  }

  return {
    add(lane) {
      waiting.add(lane);
      readNext();
    },
    readNext,
  };
}
