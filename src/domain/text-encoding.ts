export const SAMPLE_BYTES = 1_000;

/** Even a Chinese header in UTF-16 has one zero byte in seven. */
const ZERO_BYTE_RATE_MAX = 0.05;

/**
 * With or without a byte order mark.
 *
 * @param begin  the first `SAMPLE_BYTES` bytes
 */
export function detectEncoding(begin: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (begin[0] === 0xff && begin[1] === 0xfe) return "utf-16le";
  if (begin[0] === 0xfe && begin[1] === 0xff) return "utf-16be";
  // Field names are ASCII, so in UTF-16 every second byte is 0.
  const sample = begin.subarray(0, SAMPLE_BYTES);
  const zeros = [0, 0];
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[at % 2]!++;
  const [even, odd] = zeros as [number, number];
  if (even + odd <= sample.length * ZERO_BYTE_RATE_MAX) return "utf-8";
  return odd > even ? "utf-16le" : "utf-16be";
}

/** In another encoding, different names could become equal. */
export const NOT_TEXT_MESSAGE = "the file is neither UTF-8 nor UTF-16 text: save or export it as CSV in UTF-8";
