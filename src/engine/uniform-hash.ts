import { hashText } from "../domain/hash-text.ts";

/** Maps a text to [0, 1), so that sampled choices repeat when a case is decided again. */
export function uniformHash(text: string): number {
  let hash = hashText(text);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  return ((hash ^ (hash >>> 15)) >>> 0) / 4_294_967_296;
}
