import { randomBytes } from "node:crypto";
import type { Ports } from "../domain/ports.ts";
import { type ClockAnchor, findClockAnchor, setClockAnchor } from "../postgres/clock-anchor.ts";
import type { Database } from "../postgres/database.ts";
import { createWallClock, type WallClock } from "./wall-clock.ts";

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

export const serviceTime = (anchor: ClockAnchor, real: Date) => new Date(serviceMs(anchor, real.getTime()));

const serviceMs = ({ realAt, serviceAt, rate }: ClockAnchor, realMs: number) =>
  serviceAt.getTime() + (realMs - realAt.getTime()) * rate;

/** The clock of this machine. */
export const createMachineClock = () => createWallClock(Date.now, () => performance.now());

/** The real clock and real chance. */
export function createRealPorts(anchor: ClockAnchor, clock: WallClock = createMachineClock()): Ports {
  const nowMs = () => serviceMs(anchor, clock.nowMs());
  return {
    now: () => new Date(nowMs()),
    realNow: () => new Date(clock.nowMs()),
    monotonicMs: () => performance.now(),
    clockRate: anchor.rate,
    randomBytes,
    newId: createOrderedIds(nowMs),
  };
}

/** UUIDs in the order of their making, also within a millisecond: what was decided first is sent first. */
function createOrderedIds(nowMs: () => number): () => string {
  let lastMs = 0;
  let sequence = 0;
  let time = "";
  let pool = "";
  let used = 0;
  return () => {
    const ms = Math.floor(nowMs());
    if (ms > lastMs || ++sequence > SEQUENCE_MAX) {
      lastMs = ms > lastMs ? ms : lastMs + 1;
      sequence = 0;
      time = timeHexDigits(lastMs);
    }
    if (used === pool.length) {
      pool = randomBytes(RANDOM_BYTES * POOLED_ID_COUNT).toString("hex");
      used = 0;
    }
    used += 2 * RANDOM_BYTES;
    return formatUuid(time, sequence, pool.slice(used - 2 * RANDOM_BYTES, used));
  };
}

/** Chance for so many ids is drawn at once: the system is asked thousands of times a second else. */
const POOLED_ID_COUNT = 512;
const RANDOM_BYTES = 8;

const SEQUENCE_MAX = 0xfff;

/** RFC 9562, version 7: 48 bits of milliseconds, 12 of a sequence, 62 of chance. `chance`: 8 bytes. */
export const uuidV7 = (at: Date, sequence: number, chance: Buffer): string =>
  formatUuid(timeHexDigits(at.getTime()), sequence, chance.toString("hex"));

function timeHexDigits(ms: number) {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

/** The first digit of chance has two bits of it: the variant is before them. */
function formatUuid(time: string, sequence: number, chance: string) {
  const counted = (0x7000 + sequence).toString(16);
  const variant = VARIANT_DIGITS[Number.parseInt(chance[0]!, 16) % VARIANT_DIGITS.length];
  return `${time}-${counted}-${variant}${chance.slice(1, 4)}-${chance.slice(4)}`;
}

const VARIANT_DIGITS = "89ab";
