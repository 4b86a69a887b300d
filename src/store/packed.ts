import assert from "node:assert/strict";
import { dateOf, microsecondsOf } from "./binary-array.ts";
import { giveBack, takeMemory } from "./spare-memory.ts";

/**
 * Records of one kind as PostgreSQL takes them. Most are only passed on, so nobody makes objects, strings and dates of them: of each column
 * there are the elements of an array in binary form, each with its length in front, one after another.
 */
export interface Packed<Row> {
  columns: readonly (readonly [name: string, type: string, field: string])[];
  /** Of records: in any order, perhaps one twice. */
  count: number;
  /** Holds it all, with `SPARE_BYTES` behind it. */
  memory: Buffer;
  /** Where in it the elements begin, column after column; behind each column where its last one ends. */
  starts: Int32Array;
  /** Never set: it ties a batch to what its records are. */
  row?: Row;
}

/** Nobody needs these records any more. */
export function release({ memory }: Packed<unknown>) {
  giveBack(memory);
}

/** So what is copied four bytes at a time may go beyond the last element. */
const SPARE_BYTES = 3;

/** Memory for the starts of so many columns and records, and for so many bytes from `first` on. */
export function takePackedMemory(columns: number, count: number, size: number) {
  const starts = columns * (count + 1);
  const first = starts * Int32Array.BYTES_PER_ELEMENT;
  const memory = takeMemory(first + size + SPARE_BYTES);
  return { memory, starts: new Int32Array(memory.buffer, memory.byteOffset, starts), first };
}

export const LENGTH_BYTES = 4;
export const NULL_LENGTH = -1;
export const INT8_BYTES = 8;

const readInt32 = (bytes: Buffer, at: number) =>
  (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;

const readInt8 = (bytes: Buffer, at: number) => readInt32(bytes, at) * 2 ** 32 + (readInt32(bytes, at + 4) >>> 0);

/**
 * These fields of each record. What is not known is absent.
 *
 * @param places  of the records, counted from 0; of all if it is left out
 */
export function unpack<Row, Field extends keyof Row & string>(
  packed: Packed<Row>,
  fields: readonly Field[],
  places: readonly number[] = Array.from({ length: packed.count }, (_, index) => index),
): Pick<Row, Field>[] {
  const rows: Record<string, unknown>[] = places.map(() => ({}));
  for (const field of fields) {
    const column = columnOf(packed, field);
    for (let index = 0; index < places.length; index++) {
      const value = valueAt(packed, column, places[index]!);
      if (value !== undefined) rows[index]![field] = value;
    }
  }
  return rows as Pick<Row, Field>[];
}

/** The id of each record. */
export const idsOf = (packed: Packed<{ id: string }>): string[] => unpack(packed, ["id"]).map(({ id }) => id);

/** The places of the records whose field holds one of these texts, of which none stands twice. */
export function placesWith<Row>(packed: Packed<Row>, field: keyof Row & string, texts: readonly Buffer[]): number[] {
  const { count, memory: bytes, starts } = packed;
  const column = columnOf(packed, field);
  const first = column * (count + 1);
  const places: number[] = [];
  for (let place = 0; place < count; place++) {
    const from = starts[first + place]! + LENGTH_BYTES;
    const length = starts[first + place + 1]! - from;
    for (const text of texts) if (text.length === length && holds(bytes, from, text)) places.push(place);
  }
  return places;
}

function holds(bytes: Buffer, from: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[from + index] !== text[index]) return false;
  return true;
}

/** How many records have each text in this field, where it is known. */
export function countTexts<Row>(packed: Packed<Row>, field: keyof Row & string): Map<string, number> {
  const { count, memory: bytes, starts } = packed;
  const column = columnOf(packed, field);
  const first = column * (count + 1);
  const counts = new Map<string, number>();
  // Mostly one text stands in all of them, and making strings takes longer than comparing bytes.
  for (let run = first; run < first + count; ) {
    let end = run + 1;
    while (end < first + count && sameElement(bytes, starts[run]!, starts[run + 1]!, starts[end]!)) end++;
    const text = valueAt(packed, column, run - first) as string | undefined;
    if (text !== undefined) counts.set(text, (counts.get(text) ?? 0) + end - run);
    run = end;
  }
  return counts;
}

/** Whether two elements are the same. Those of different lengths differ in their first bytes. */
function sameElement(bytes: Buffer, from: number, to: number, other: number): boolean {
  for (let index = from; index < to; index++) if (bytes[index] !== bytes[other + index - from]) return false;
  return true;
}

/** The place of the column that this field goes to; -1 when there is none. */
export const columnOf = <Row>({ columns }: Packed<Row>, field: string) =>
  columns.findIndex(([, , name]) => name === field);

function valueAt<Row>(packed: Packed<Row>, column: number, index: number): unknown {
  const { columns, count, memory: bytes, starts } = packed;
  const place = column * (count + 1) + index;
  const at = starts[place]! + LENGTH_BYTES;
  const end = starts[place + 1]!;
  if (isNull(bytes, starts[place]!)) return undefined;
  const type = columns[column]![1];
  if (type === "text") return bytes.toString("utf8", at, end);
  if (type === "int8") return readInt8(bytes, at);
  if (type === "int4") return readInt32(bytes, at);
  if (type === "timestamptz") return dateOf(readInt8(bytes, at));
  assert.equal(type, "bool");
  return bytes[at] === 1;
}

/** Whether the element that begins here is null: lengths are never so long. */
const isNull = (bytes: Buffer, start: number) => bytes[start] === 0xff;

/** Returns the places of the records that have this field. */
export function placesKnown<Row>(packed: Packed<Row>, field: keyof Row & string): number[] {
  const { count, memory: bytes, starts } = packed;
  const first = columnOf(packed, field) * (count + 1);
  const places: number[] = [];
  for (let place = 0; place < count; place++) if (!isNull(bytes, starts[first + place]!)) places.push(place);
  return places;
}

/** Returns the places of the records with a moment in this field that comes after `ms`, each with that moment. @param ms  since 1970 */
export function momentsAfter<Row>(packed: Packed<Row>, field: string, ms: number): { index: number; at: Date }[] {
  const { count, memory: bytes, starts } = packed;
  const first = columnOf(packed, field) * (count + 1);
  const limit = microsecondsOf(ms);
  const found: { index: number; at: Date }[] = [];
  for (let index = 0; index < count; index++) {
    const start = starts[first + index]!;
    if (isNull(bytes, start)) continue;
    const moment = readInt8(bytes, start + LENGTH_BYTES);
    if (moment > limit) found.push({ index, at: dateOf(moment) });
  }
  return found;
}
