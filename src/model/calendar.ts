import { DAY_MS } from "../domain/durations.ts";

// Calendar days are counted since 1 January 1970, which was a Thursday.

/** 0 for Sunday. */
export const weekdayOf = (day: number) => (((day + 4) % 7) + 7) % 7;

/** Day of the month and length of the month of each day of a block, two bytes a day. */
const blocks = new Map<number, Uint8Array>();
const BLOCK = 1024;
/** Blocks kept: about 90 years, far more than one installation meets. */
const BLOCKS_MAX = 32;

function blockOf(day: number): Uint8Array {
  const number = Math.floor(day / BLOCK);
  let block = blocks.get(number);
  if (!block) {
    if (blocks.size >= BLOCKS_MAX) blocks.clear();
    block = new Uint8Array(2 * BLOCK);
    for (let n = 0; n < BLOCK; n++) {
      const at = new Date((number * BLOCK + n) * DAY_MS);
      block[2 * n] = at.getUTCDate();
      block[2 * n + 1] = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
    }
    blocks.set(number, block);
  }
  return block;
}

const within = (day: number) => ((day % BLOCK) + BLOCK) % BLOCK;

/** 1 to 31. */
export const dateOf = (day: number) => blockOf(day)[2 * within(day)]!;

/** 28 to 31. */
export const monthLength = (day: number) => blockOf(day)[2 * within(day) + 1]!;
