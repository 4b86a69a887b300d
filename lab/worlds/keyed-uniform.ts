export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/**
 * In [0, 1); the order of calls does not matter. Two rounds of a 32-bit finalizer per key, because worlds call it tens of
 * millions of times.
 */
export function keyedUniform(a: number, b: number, c: number, d: number): number {
  let hash = mixBits(a ^ 0x9e3779b9);
  hash = mixBits(hash ^ Math.imul(b, 0x85ebca6b));
  hash = mixBits(hash ^ Math.imul(c, 0xc2b2ae35));
  hash = mixBits(hash ^ Math.imul(d, 0x27d4eb2f));
  return (hash >>> 0) / 4_294_967_296;
}

function mixBits(value: number) {
  let hash = value | 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  hash = Math.imul(hash ^ (hash >>> 15), 0x846ca68b);
  return hash ^ (hash >>> 16);
}

export function keyedNormal(a: number, b: number, c: number, d: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - keyedUniform(a, b, c, d)));
  return radius * Math.cos(2 * Math.PI * keyedUniform(a, b, c, d ^ 0x5bd1e995));
}

export function chooseWeighted<T>(draw: number, choices: readonly (readonly [T, number])[]): T {
  let total = 0;
  for (const [, weight] of choices) total += weight;
  let remaining = draw * total;
  for (const [choice, weight] of choices) {
    remaining -= weight;
    if (remaining < 0) return choice;
  }
  return choices.at(-1)![0];
}
