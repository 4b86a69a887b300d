import assert from "node:assert/strict";
import type { MicrosecondDate } from "../domain/timestamp.ts";

// PostgreSQL's binary format, which saves quoting, and timestamps as text:
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES

interface ElementType {
  oid: number;
  /** Writes at `scratchOffset` and returns the end's offset. */
  write(value: never): number;
  sizeMax(value: never): number;
}

let scratchBytes = Buffer.allocUnsafeSlow(64 * 1024);
/** The same memory. Buffer's own writers check their arguments twice. */
let scratchView = new DataView(scratchBytes.buffer);
let scratchOffset = 0;

const fixedSizeType = <Value>(oid: number, size: number, write: (value: Value) => unknown): ElementType => ({
  oid,
  write(value) {
    write(value);
    return scratchOffset + size;
  },
  sizeMax: () => size,
});

const writeText = (value: string) => scratchOffset + scratchBytes.write(value, scratchOffset);
const utf8MaxBytes = (value: string) => 3 * value.length;

function writeInt8(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError("not an integer within 2^53");
  return writeTimestampMicros(value);
}

/** From 2285 on, microseconds exceed 2^53 and lose precision. */
function writeTimestampMicros(value: number): number {
  if (!Number.isInteger(value)) throw new RangeError("not a whole number");
  scratchView.setInt32(scratchOffset, Math.floor(value / 2 ** 32));
  scratchView.setUint32(scratchOffset + 4, value >>> 0);
  return scratchOffset + 8;
}

const YEAR_2000_MS = Date.UTC(2000, 0, 1);
/** Since 2000. @param ms  since 1970 */
const toPostgresMicros = (ms: number) => Math.round((ms - YEAR_2000_MS) * 1000);
const UUID_CHARS = 36;
const HYPHEN = 0x2d;
const hyphenAt = (text: string, index: number) => text.charCodeAt(index) === HYPHEN;
/** Each byte's two digits. */
const UUID_PAIR_OFFSETS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const NO_DIGIT = 0xff;
const HEX_VALUES = new Uint8Array(65_536).fill(NO_DIGIT);
for (let value = 0; value < 16; value++)
  for (const digit of [value.toString(16), value.toString(16).toUpperCase()]) HEX_VALUES[digit.charCodeAt(0)] = value;

/** Much faster than a regular expression, `replaceAll` and Buffer's hex. */
function writeUuid(value: string): number {
  const into = scratchBytes;
  const hyphens = hyphenAt(value, 8) && hyphenAt(value, 13) && hyphenAt(value, 18) && hyphenAt(value, 23);
  let invalid = value.length === UUID_CHARS && hyphens ? 0 : NO_DIGIT;
  for (let index = 0; index < UUID_PAIR_OFFSETS.length; index++) {
    const pair = UUID_PAIR_OFFSETS[index]!;
    const high = HEX_VALUES[value.charCodeAt(pair)]!;
    const low = HEX_VALUES[value.charCodeAt(pair + 1)]!;
    invalid |= high | low;
    into[scratchOffset + index] = (high << 4) | low;
  }
  if (invalid > 0xf) throw new TypeError("not a UUID");
  return scratchOffset + UUID_PAIR_OFFSETS.length;
}

function writeJsonb(value: string): number {
  const version = 1;
  scratchBytes[scratchOffset++] = version;
  return writeText(value);
}

const ELEMENT_TYPES: Record<string, ElementType> = {
  bool: fixedSizeType(16, 1, (value: boolean) => scratchView.setUint8(scratchOffset, value ? 1 : 0)),
  int2: fixedSizeType(21, 2, (value: number) => scratchBytes.writeInt16BE(value, scratchOffset)),
  int4: fixedSizeType(23, 4, (value: number) => scratchBytes.writeInt32BE(value, scratchOffset)),
  int8: fixedSizeType(20, 8, writeInt8),
  float8: fixedSizeType(701, 8, (value: number) => scratchView.setFloat64(scratchOffset, value)),
  timestamptz: fixedSizeType(1184, 8, (value: MicrosecondDate) =>
    writeTimestampMicros(toPostgresMicros(value.getTime()) + (value.microseconds ?? 0)),
  ),
  uuid: fixedSizeType(2950, 16, writeUuid),
  text: { oid: 25, write: writeText, sizeMax: utf8MaxBytes },
  jsonb: { oid: 3802, write: writeJsonb, sizeMax: (value: string) => 1 + utf8MaxBytes(value) },
};

const HEADER_BYTES = 20;
const EMPTY_BYTES = 12;
const LENGTH_BYTES = 4;

/**
 * One field of all rows as an array parameter. Null and undefined become null.
 *
 * @param type  bool, int2, int4, int8, float8, timestamptz (a Date), uuid, text, or jsonb (as text)
 */
export function encodeBinaryArray<Row>(rows: readonly Row[], field: keyof Row, type: string): Buffer {
  const element = ELEMENT_TYPES[type];
  assert(element, `arrays of ${type} are not supported`);
  ensureScratchSize(HEADER_BYTES, 0);
  scratchOffset = HEADER_BYTES;
  if (element !== ELEMENT_TYPES.text || !writeShortTexts(rows, field)) writeElements(rows, field, element);
  writeHeader(scratchBytes, element, rows.length);
  return Buffer.from(scratchBytes.subarray(0, rows.length === 0 ? EMPTY_BYTES : scratchOffset));
}

/** The driver would quote each value. */
export const encodeTextArray = (values: readonly string[], type: "uuid" | "text"): Buffer =>
  encodeBinaryArray(
    values.map((value) => ({ value })),
    "value",
    type,
  );

/** Takes `HEADER_BYTES`, or `EMPTY_BYTES` without elements. */
function writeHeader(into: Buffer, { oid }: ElementType, count: number) {
  into.writeInt32BE(count === 0 ? 0 : 1, 0); // dimensions
  into.writeInt32BE(1, 4); // PostgreSQL looks for nulls itself
  into.writeUInt32BE(oid, 8);
  into.writeInt32BE(count, 12);
  into.writeInt32BE(1, 16); // the first index
}

function writeElements<Row>(rows: readonly Row[], field: keyof Row, { sizeMax, write }: ElementType) {
  for (const row of rows) {
    const value = row[field];
    if (value === null || value === undefined) {
      ensureScratchSize(LENGTH_BYTES, scratchOffset);
      scratchView.setInt32(scratchOffset, -1);
      scratchOffset += LENGTH_BYTES;
    } else {
      ensureScratchSize(LENGTH_BYTES + sizeMax(value as never), scratchOffset);
      const start = scratchOffset + LENGTH_BYTES;
      scratchOffset = start;
      scratchOffset = write(value as never);
      scratchView.setInt32(start - LENGTH_BYTES, scratchOffset - start);
    }
  }
}

const SHORT_MAX = 127;
/** Each short length's four bytes, as characters. */
const SHORT_LENGTH_PREFIXES = Array.from(
  { length: SHORT_MAX + 1 },
  (_, length) => `\0\0\0${String.fromCharCode(length)}`,
);

/** Writes one string, in half the time, if every value is short ASCII. Otherwise writes nothing and returns false. */
function writeShortTexts<Row>(rows: readonly Row[], field: keyof Row): boolean {
  let text = "";
  for (const row of rows) {
    const value = row[field];
    if (typeof value !== "string" || value.length > SHORT_MAX) return false;
    text += SHORT_LENGTH_PREFIXES[value.length] + value;
  }
  ensureScratchSize(utf8MaxBytes(text), scratchOffset);
  const size = scratchBytes.write(text, scratchOffset);
  // More bytes than characters: not ASCII, so the lengths are wrong.
  if (size !== text.length) return false;
  scratchOffset += size;
  return true;
}

function ensureScratchSize(size: number, used: number) {
  if (used + size <= scratchBytes.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * scratchBytes.length, used + size));
  scratchBytes.copy(larger, 0, 0, used);
  scratchBytes = larger;
  scratchView = new DataView(scratchBytes.buffer);
}
