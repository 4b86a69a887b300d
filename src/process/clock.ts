import { randomBytes } from "node:crypto";
import type { Ports } from "../domain/ports.ts";
import { type ClockAnchor, findClockAnchor, setClockAnchor } from "../postgres/clock-anchor.ts";
import type { Database } from "../postgres/database.ts";
import { createWallClock, type WallClock } from "./wall-clock.ts";

/**
 * A restart keeps the anchor. Another rate continues from the current service time.
 *
 * @param rate  null keeps the rate of the anchor, initially 1
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

export const createMachineClock = () => createWallClock(Date.now, () => performance.now());

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

/** UUIDs in the order of creation, also within a millisecond, so that earlier decisions are sent first. */
function createOrderedIds(nowMs: () => number): () => string {
  let lastMs = 0;
  let sequence = 0;
  let time = "";
  let randomPool = "";
  let usedChars = 0;
  return () => {
    const ms = Math.floor(nowMs());
    if (ms > lastMs || ++sequence > SEQUENCE_MAX) {
      lastMs = ms > lastMs ? ms : lastMs + 1;
      sequence = 0;
      time = timeHexDigits(lastMs);
    }
    if (usedChars === randomPool.length) {
      randomPool = randomBytes(RANDOM_BYTES * POOLED_ID_COUNT).toString("hex");
      usedChars = 0;
    }
    usedChars += 2 * RANDOM_BYTES;
    return formatUuid(time, sequence, randomPool.slice(usedChars - 2 * RANDOM_BYTES, usedChars));
  };
}

/** Random bytes are read in bulk for speed. */
const POOLED_ID_COUNT = 512;
const RANDOM_BYTES = 8;

const SEQUENCE_MAX = 0xfff;

/**
 * RFC 9562, version 7: 48 bits of milliseconds, a 12-bit sequence, 62 random bits.
 *
 * @param random  8 bytes
 */
export const uuidV7 = (at: Date, sequence: number, random: Buffer): string =>
  formatUuid(timeHexDigits(at.getTime()), sequence, random.toString("hex"));

function timeHexDigits(ms: number) {
  const digits = ms.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

/** The variant replaces two bits of the first random digit. */
function formatUuid(time: string, sequence: number, random: string) {
  const versionAndSequence = (0x7000 + sequence).toString(16);
  const variant = VARIANT_DIGITS[Number.parseInt(random[0]!, 16) % VARIANT_DIGITS.length];
  return `${time}-${versionAndSequence}-${variant}${random.slice(1, 4)}-${random.slice(4)}`;
}

const VARIANT_DIGITS = "89ab";
