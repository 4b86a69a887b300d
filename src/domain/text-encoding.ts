/** As much of a text as shows how it is written. */
export const SAMPLE_BYTES = 1_000;

/** More zero bytes than this share did not slip in: of 编号,状态,发票,金额,货币,时间 in UTF-16 they are a seventh. */
const ZERO_BYTE_RATE_MAX = 0.05;

/** How a file is written: UTF-8, or UTF-16 as spreadsheets write it ("Unicode text"), with a mark of it or without. By its first `SAMPLE_BYTES`. */
export function detectEncoding(begin: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (begin[0] === 0xff && begin[1] === 0xfe) return "utf-16le";
  if (begin[0] === 0xfe && begin[1] === 0xff) return "utf-16be";
  // Names of fields are ASCII: in UTF-16 every second byte of them is 0, and in UTF-8 hardly any is.
  const look = begin.subarray(0, SAMPLE_BYTES);
  const zeros = [0, 0];
  for (const [at, byte] of look.entries()) if (byte === 0) zeros[at % 2]!++;
  const [even, odd] = zeros as [number, number];
  if (even + odd <= look.length * ZERO_BYTE_RATE_MAX) return "utf-8";
  return odd > even ? "utf-16le" : "utf-16be";
}

/** Names that differ in one letter would be one name. */
export const NOT_TEXT_MESSAGE = "the file is neither UTF-8 nor UTF-16 text: save or export it as CSV in UTF-8";
