/** As much of a text as shows how it is written. */
export const LOOK_BYTES = 1_000;

/** How a file is written: UTF-8, or UTF-16 as spreadsheets write it ("Unicode text"), with a mark of it or without. By its first `LOOK_BYTES`. */
export function encodingOf(begin: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (begin[0] === 0xff && begin[1] === 0xfe) return "utf-16le";
  if (begin[0] === 0xfe && begin[1] === 0xff) return "utf-16be";
  // Names of fields are ASCII: in UTF-16 every second byte of them is 0, and in UTF-8 none is.
  const zero = begin.subarray(0, LOOK_BYTES).indexOf(0);
  if (zero < 0) return "utf-8";
  return zero % 2 === 1 ? "utf-16le" : "utf-16be";
}

/** Names that differ in one letter would be one name. */
export const NO_TEXT = "the file is neither UTF-8 nor UTF-16 text: save or export it as CSV in UTF-8";
