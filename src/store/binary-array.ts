import assert from "node:assert/strict";

// How PostgreSQL sends and receives arrays in binary: https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES
// It spares both sides the quoting, and most of all the text of moments: of 200 invoices a third of the work.

interface ElementType {
  oid: number;
  /** Writes the value into `bytes` from `at` on, and returns where it ends. */
  write(value: never): number;
  /** Bytes that the value takes at most. */
  sizeMax(value: never): number;
}

let bytes = Buffer.allocUnsafe(64 * 1024);
let at = 0;

const fixed = <Value>(oid: number, size: number, write: (value: Value) => number): ElementType => ({
  oid,
  write,
  sizeMax: () => size,
});

const writeText = (value: string) => at + bytes.write(value, at);
const utf8Max = (value: string) => 3 * value.length;

function writeInt8(value: number): number {
  assert(Number.isSafeInteger(value), "not an integer within 2^53");
  bytes.writeInt32BE(Math.floor(value / 2 ** 32), at);
  return bytes.writeUInt32BE(value >>> 0, at + 4);
}

const YEAR_2000_MS = Date.UTC(2000, 0, 1);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function writeUuid(value: string): number {
  assert(UUID.test(value), "not a UUID");
  return at + bytes.write(value.replaceAll("-", ""), at, "hex");
}

function writeJsonb(value: string): number {
  const version = 1;
  bytes[at++] = version;
  return writeText(value);
}

const TYPES: Record<string, ElementType> = {
  bool: fixed(16, 1, (value: boolean) => bytes.writeUInt8(value ? 1 : 0, at)),
  int2: fixed(21, 2, (value: number) => bytes.writeInt16BE(value, at)),
  int4: fixed(23, 4, (value: number) => bytes.writeInt32BE(value, at)),
  int8: fixed(20, 8, writeInt8),
  timestamptz: fixed(1184, 8, (value: Date) => writeInt8((value.getTime() - YEAR_2000_MS) * 1000)),
  uuid: fixed(2950, 16, writeUuid),
  text: { oid: 25, write: writeText, sizeMax: utf8Max },
  jsonb: { oid: 3802, write: writeJsonb, sizeMax: (value: string) => 1 + utf8Max(value) },
};

const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;

/**
 * One field of all rows as an array parameter. What is null or undefined becomes null.
 *
 * @param type  of the elements: bool, int2, int4, int8, timestamptz (a Date), uuid, text, jsonb (as text)
 */
export function binaryArray<Row>(rows: readonly Row[], field: keyof Row, type: string): Buffer {
  const element = TYPES[type];
  assert(element, `no array of ${type} is known`);
  at = 0;
  reserve(HEADER_BYTES);
  at = HEADER_BYTES;
  let nulls = 0;
  for (const row of rows) {
    const value = row[field];
    if (value === null || value === undefined) {
      nulls = 1;
      reserve(LENGTH_BYTES);
      at = bytes.writeInt32BE(-1, at);
    } else {
      reserve(LENGTH_BYTES + element.sizeMax(value as never));
      const length = at;
      at += LENGTH_BYTES;
      at = element.write(value as never);
      bytes.writeInt32BE(at - length - LENGTH_BYTES, length);
    }
  }
  const dimensions = rows.length === 0 ? 0 : 1;
  bytes.writeInt32BE(dimensions, 0);
  bytes.writeInt32BE(nulls, 4);
  bytes.writeUInt32BE(element.oid, 8);
  bytes.writeInt32BE(rows.length, 12);
  bytes.writeInt32BE(1, 16); // the first index
  return Buffer.from(bytes.subarray(0, dimensions === 0 ? 12 : at));
}

function reserve(size: number) {
  if (at + size <= bytes.length) return;
  const larger = Buffer.allocUnsafe(Math.max(2 * bytes.length, at + size));
  bytes.copy(larger, 0, 0, at);
  bytes = larger;
}
