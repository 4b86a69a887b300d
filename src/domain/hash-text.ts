/** 32 bits of a text, FNV-1a: the same on every machine and in every release, since what was stored rests on it. From 0 to 2^32 - 1. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let n = 0; n < text.length; n++) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193);
  return hash >>> 0;
}
