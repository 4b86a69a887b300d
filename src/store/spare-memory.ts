const LEAST = 2 ** 12;
/** As much as a full flush of invoices takes. What is larger is rare, and is left to the collector. */
const MOST = 2 ** 19;
const KEPT_OF_A_SIZE = 8;
const spares = new Map<number, ArrayBuffer[]>();
/** What somebody has: nothing else is taken back, and nothing twice. */
const lent = new WeakSet<ArrayBufferLike>();

/**
 * Memory of so many bytes, perhaps with something in it. What comes and goes with each request would have the collector of garbage look
 * through the whole heap ever so often, since all it sees of such memory is that there is more of it.
 */
export function takeMemory(size: number): Buffer {
  if (size > MOST) return Buffer.allocUnsafeSlow(size);
  const whole = Math.max(LEAST, 2 ** Math.ceil(Math.log2(size)));
  const memory = spares.get(whole)?.pop() ?? new ArrayBuffer(whole);
  lent.add(memory);
  return Buffer.from(memory, 0, size);
}

/** Who took the memory needs it no more, and nobody else reads it. What is forgotten is collected as all else is. */
export function giveBack({ buffer }: Buffer) {
  if (!lent.delete(buffer)) return;
  const kept = spares.get(buffer.byteLength) ?? [];
  spares.set(buffer.byteLength, kept);
  if (kept.length < KEPT_OF_A_SIZE) kept.push(buffer as ArrayBuffer);
}
