import { hashText } from "../domain/hash-text.ts";

/** Returns a number in [0, 1) that depends on the text alone, so that sampled choices repeat when a case is decided again. */
export function uniformHash(text: string): number {
  let hash = hashText(text);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  return ((hash ^ (hash >>> 15)) >>> 0) / 4_294_967_296;
}
