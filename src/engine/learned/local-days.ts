import { DAY_MS } from "../../domain/durations.ts";

// Days since January 1, 1970, a Thursday.

/** 0 for Sunday. */
export const weekdayOf = (day: number) => (((day + 4) % 7) + 7) % 7;

/** Date and month length, two bytes a day. */
const blockByNumber = new Map<number, Uint8Array>();
const DAYS_PER_BLOCK = 1024;
/** About 90 years. */
const MAX_BLOCKS = 32;

function getBlock(day: number): Uint8Array {
  const number = Math.floor(day / DAYS_PER_BLOCK);
  let block = blockByNumber.get(number);
  if (!block) {
    if (blockByNumber.size >= MAX_BLOCKS) blockByNumber.clear();
    block = new Uint8Array(2 * DAYS_PER_BLOCK);
    for (let n = 0; n < DAYS_PER_BLOCK; n++) {
      const at = new Date((number * DAYS_PER_BLOCK + n) * DAY_MS);
      block[2 * n] = at.getUTCDate();
      block[2 * n + 1] = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
    }
    blockByNumber.set(number, block);
  }
  return block;
}

const indexInBlock = (day: number) => ((day % DAYS_PER_BLOCK) + DAYS_PER_BLOCK) % DAYS_PER_BLOCK;

/** 1 to 31. */
export const dayOfMonth = (day: number) => getBlock(day)[2 * indexInBlock(day)]!;

/** 28 to 31. */
export const monthLength = (day: number) => getBlock(day)[2 * indexInBlock(day) + 1]!;
