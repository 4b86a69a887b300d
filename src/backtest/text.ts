import { FileRefused } from "../domain/file-refused.ts";

/** As much as shows how a text is written. */
const LOOK = 1_000;

/**
 * The text of a file: UTF-8, or UTF-16 as spreadsheets write it ("Unicode text"), with a mark of it or without.
 *
 * @throws FileRefused when it is neither: names that differ in one letter would be one name
 */
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new FileRefused("the file is not UTF-8 text: save or export it as CSV in UTF-8");
  }
}

function encodingOf(bytes: Uint8Array): "utf-8" | "utf-16le" | "utf-16be" {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  // Names of fields are ASCII: in UTF-16 every second byte of them is 0, and in UTF-8 none is.
  const zero = bytes.subarray(0, LOOK).indexOf(0);
  if (zero < 0) return "utf-8";
  return zero % 2 === 1 ? "utf-16le" : "utf-16be";
}
