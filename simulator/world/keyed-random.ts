/**
 * Returns a number in [0, 1) that depends only on its keys (cyrb53), so two policies can be compared on exactly the same
 * customers.
 */
export function keyedRandom(...keys: (string | number)[]) {
  const text = keys.join("\u001f");
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let n = 0; n < text.length; n++) {
    const code = text.charCodeAt(n);
    low = Math.imul(low ^ code, 2654435761);
    high = Math.imul(high ^ code, 1597334677);
  }
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  return (4294967296 * (2097151 & high) + (low >>> 0)) / 2 ** 53;
}

export type Weighted<T> = readonly (readonly [T, number])[];

/** `draw` in [0, 1). Weights need not sum to 1. */
export function pickWeighted<T>(draw: number, choices: Weighted<T>): T {
  let left = draw * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [choice, weight] of choices) {
    left -= weight;
    if (left < 0) return choice;
  }
  return choices.at(-1)![0];
}

/** Both included. */
export const integerBetween = (draw: number, from: number, to: number) => from + Math.floor(draw * (to - from + 1));

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
