import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { type Database, errorFields } from "../store/database.ts";
import { dueDeliveries, nextDeliveryDue } from "../store/deliveries.ts";
import { beginRead, endRead, forgetFloor, type Lane, leftOut, noteDue, wantsRead } from "./lane.ts";

/** Reads due rows ahead for lanes that want some, a few lanes at a time. */
export interface Reader {
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

/** Due reads at once: they share the pool with everybody else. */
const READS_MAX = 4;
const READ_AGAIN_MS = 1_000;

export function createReader({ db, ports, log, maySend, isFull, onRead }: Options): Reader {
  const waiting = new Set<Lane>();
  let reading = 0;

  function readNext() {
    for (const lane of waiting) {
      if (reading >= READS_MAX || isFull()) return;
      waiting.delete(lane);
      if (!maySend(lane) || !wantsRead(lane, ports.now().getTime())) continue;
      reading++;
      void readAhead(lane).then(() => {
        reading--;
        onRead(lane);
        readNext();
      });
    }
  }

  async function readAhead(lane: Lane) {
    const readMs = ports.monotonicMs();
    const now = ports.now();
    const merchantId = lane.merchant.id;
    const from = beginRead(lane, readMs, now, ports.clockRate);
    try {
      const rows = await dueDeliveries(db, merchantId, now, leftOut(lane), lane.readSize, from);
      if (rows.length < lane.readSize) {
        const next = await nextDeliveryDue(db, merchantId, now);
        if (next !== null) noteDue(lane, next.getTime());
      }
      endRead(lane, rows, readMs);
    } catch (error) {
      lane.reading = false;
      forgetFloor(lane);
      noteDue(lane, ports.now().getTime() + READ_AGAIN_MS * ports.clockRate);
      log.warn({ ...errorFields(error), merchantId }, "deliveries.read-failed");
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
