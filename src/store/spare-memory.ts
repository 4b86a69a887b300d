const SIZE_LOG2 = { least: 12, most: 20 };
const KEPT_OF_A_SIZE = 8;
const spares = new Map<number, ArrayBuffer[]>();

/**
 * Memory of so many bytes, perhaps with something in it. What comes and goes with each request would have the collector of garbage look
 * through the whole heap ever so often, since all it sees of such memory is that there is more of it.
 */
export function takeMemory(size: number): Buffer {
  const whole = 2 ** Math.max(SIZE_LOG2.least, Math.ceil(Math.log2(size)));
  return Buffer.from(spares.get(whole)?.pop() ?? new ArrayBuffer(whole), 0, size);
}

/** Who took the memory needs it no more, and nobody else reads it. What is forgotten is collected as all else is. */
export function giveBack({ buffer }: Buffer) {
  const size = buffer.byteLength;
  if (size > 2 ** SIZE_LOG2.most) return;
  const kept = spares.get(size) ?? [];
  spares.set(size, kept);
  if (kept.length < KEPT_OF_A_SIZE) kept.push(buffer as ArrayBuffer);
}
