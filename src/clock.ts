import { randomBytes } from "node:crypto";
import type { Ports } from "./domain/ports.ts";
import { type ClockAnchor, findClockAnchor, setClockAnchor } from "./store/clock-anchor.ts";
import type { Database } from "./store/database.ts";

/**
 * Find, or make, the anchor of service time. It stays where it is over restarts; another rate goes on from the moment
 * that service time has reached.
 *
 * @param rate  the rate that is asked for; null: whatever the anchor says, and 1 when there is none
 */
export async function anchorClock(db: Database, rate: number | null, realNow: Date): Promise<ClockAnchor> {
  return db.transaction(async (tx) => {
    const anchor = await findClockAnchor(tx);
    if (anchor && (rate === null || anchor.rate === rate)) return anchor;
    const serviceAt = anchor ? serviceTime(anchor, realNow) : realNow;
    const next = { realAt: realNow, serviceAt, rate: rate ?? 1 };
    if (anchor || rate !== null) await setClockAnchor(tx, next);
    return next;
  });
}

export const serviceTime = ({ realAt, serviceAt, rate }: ClockAnchor, real: Date) =>
  new Date(serviceAt.getTime() + (real.getTime() - realAt.getTime()) * rate);

/** The real clock and real chance. */
export function realPorts(anchor: ClockAnchor): Ports {
  const realNow = () => new Date();
  const now = () => serviceTime(anchor, realNow());
  return {
    now,
    realNow,
    monotonicMs: () => performance.now(),
    clockRate: anchor.rate,
    randomBytes,
    newId: orderedIds(now),
  };
}

/** UUIDs in the order of their making, also within a millisecond: what was decided first is sent first. */
function orderedIds(now: () => Date): () => string {
  let lastMs = 0;
  let sequence = 0;
  let pool = Buffer.alloc(0);
  let used = 0;
  return () => {
    const ms = now().getTime();
    if (ms > lastMs) {
      lastMs = ms;
      sequence = 0;
    } else if (++sequence > SEQUENCE_MAX) {
      lastMs++;
      sequence = 0;
    }
    if (used === pool.length) {
      pool = randomBytes(CHANCE_BYTES * POOLED);
      used = 0;
    }
    used += CHANCE_BYTES;
    return uuidV7(new Date(lastMs), sequence, pool.subarray(used - CHANCE_BYTES, used));
  };
}

/** Chance for so many ids is drawn at once: the system is asked thousands of times a second else. */
const POOLED = 512;
const CHANCE_BYTES = 8;

const SEQUENCE_MAX = 0xfff;

/** RFC 9562, version 7: 48 bits of milliseconds, 12 of a sequence, 62 of chance. `chance`: 8 bytes. */
export function uuidV7(at: Date, sequence: number, chance: Buffer): string {
  const bytes = Buffer.alloc(16);
  bytes.writeUIntBE(at.getTime(), 0, 6);
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  chance.copy(bytes, 8);
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
