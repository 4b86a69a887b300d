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

/** Reads due rows ahead for lanes that want some: all that wait are read together. */
export interface DueDeliveryReader {
  add(lane: Lane): void;
  /** Read as much as there is room for. */
  readNext(): void;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  /** Whether reading for this lane makes sense now. */
  maySend(lane: Lane): boolean;
  /** Whether what is read could not be begun anyway. */
  isFull(): boolean;
  onRead(lane: Lane): void;
}

/** Reads at once: while they are under way, lanes gather for the next. */
const MAX_CONCURRENT_READS = 2;
/** Rows that one read asks for at most, unless a lane alone wants more. */
const MAX_ROWS_PER_READ = 512;
const READ_RETRY_MS = 1_000;

/** Lanes that are added are read as soon as there is room; what cannot be read is tried again a second later. */
export function createDueDeliveryReader({ db, ports, log, maySend, isFull, onRead }: Options): DueDeliveryReader {
  const waiting = new Set<Lane>();
  let reading = 0;

  function readNext() {
    while (reading < MAX_CONCURRENT_READS && waiting.size > 0 && !isFull()) {
      const lanes = takeTogether(ports.now().getTime());
      if (lanes.length === 0) return;
      reading++;
      void readAhead(lanes).then(() => {
        reading--;
        readNext();
      });
    }
  }

  function takeTogether(nowMs: number): Lane[] {
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
    const asks = lanes.map((lane) => {
      const from = beginRead(lane, readMs, now, ports.clockRate);
      return { merchantId: lane.merchant.id, from, limit: lane.readSize, busy: excludedEventIds(lane) };
    });
    try {
      const due = await dueDeliveries(db, now, asks);
      for (const [index, lane] of lanes.entries()) endRead(lane, due[index]!, readMs);
      for (const lane of lanes) onRead(lane);
      const emptied = lanes.filter((_, index) => due[index]!.length < asks[index]!.limit);
      if (emptied.length > 0) await lookFurther(emptied, now);
    } catch (error) {
      if (lanes.length > 1 && !isOutage(error)) return await readOneByOne(lanes);
      for (const lane of lanes) lane.reading = false;
      failed(lanes, error);
    }
  }

  /** What cannot be read of one merchant must not keep the others from being read. */
  async function readOneByOne(lanes: readonly Lane[]) {
    for (const lane of lanes) {
      resetReadFloor(lane);
      await readAhead([lane]);
    }
  }

  /** When something is due next in lanes that have nothing due any more. */
  async function lookFurther(lanes: readonly Lane[], now: Date) {
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
      failed(lanes, error);
    }
  }

  function failed(lanes: readonly Lane[], error: unknown) {
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
