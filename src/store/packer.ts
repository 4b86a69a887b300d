import assert from "node:assert/strict";
import type { Column } from "./batch.ts";
import { elementOf, microsecondsOf } from "./binary-array.ts";
import { INT8_BYTES, LENGTH_BYTES, NULL_LENGTH, type Packed, takePackedMemory } from "./packed.ts";

/** Packs records one by one, column by column. It is used again and again; a record that was not finished is forgotten by `begin`. */
export interface Packer<Row> {
  columns: readonly Column<Row>[];
  writers: readonly ColumnWriter[];
  begin(): void;
  /** Packs what was put since `begin`: to each column as many values. */
  end(): Packed<Row>;
}

/** One column on the way. */
export interface ColumnWriter {
  /** int4, int8, timestamptz, bool, text */
  readonly type: string;
  bytes: Buffer;
  /** Over the same memory, for what takes several bytes: it writes them at once. */
  view: DataView;
  at: number;
  count: number;
  starts: Int32Array;
}

/** Its memory grows with the largest batch, and is kept. What `end` returns lies in other memory, which the next batch leaves alone. */
export function createPacker<Row>(columns: readonly Column<Row>[]): Packer<Row> {
  const writers = columns.map(([, type]): ColumnWriter => {
    const bytes = Buffer.allocUnsafeSlow(4096);
    return { type, bytes, view: viewOf(bytes), at: 0, count: 0, starts: new Int32Array(256) };
  });
  return {
    columns,
    writers,
    begin() {
      for (const writer of writers) {
        writer.at = 0;
        writer.count = 0;
      }
    },
    end() {
      const { count } = writers[0]!;
      const size = writers.reduce((sum, { at }) => sum + at, 0);
      const { memory, starts, first } = takePackedMemory(columns.length, count, size);
      let used = first;
      let place = 0;
      for (const writer of writers) {
        assert.equal(writer.count, count);
        for (let index = 0; index < count; index++) starts[place++] = used + writer.starts[index]!;
        writer.bytes.copy(memory, used, 0, writer.at);
        used += writer.at;
        starts[place++] = used;
      }
      return { columns, count, memory, starts };
    },
  };
}

/** Begins an element that takes at most so many bytes; returns where its value goes. `endElement` says how long it got. */
export function beginElement(writer: ColumnWriter, length: number): number {
  const from = writer.at;
  if (writer.count === writer.starts.length) growStarts(writer);
  writer.starts[writer.count++] = from;
  if (from + LENGTH_BYTES + length > writer.bytes.length) growBytes(writer, from + LENGTH_BYTES + length);
  return from + LENGTH_BYTES;
}

function growStarts(writer: ColumnWriter) {
  const more = new Int32Array(2 * writer.starts.length);
  more.set(writer.starts);
  writer.starts = more;
}

function growBytes(writer: ColumnWriter, needed: number) {
  const more = Buffer.allocUnsafeSlow(Math.max(2 * writer.bytes.length, needed));
  writer.bytes.copy(more, 0, 0, writer.at);
  writer.bytes = more;
  writer.view = viewOf(more);
}

/** A whole number within 2^53, as int8 or the microseconds of timestamptz have it. */
function writeInt8(view: DataView, at: number, value: number) {
  view.setInt32(at, Math.floor(value / 2 ** 32));
  view.setInt32(at + 4, value >>> 0);
}

const viewOf = ({ buffer, byteOffset, length }: Buffer) => new DataView(buffer, byteOffset, length);

/** @param to  behind the value that began where `beginElement` said */
export function endElement(writer: ColumnWriter, from: number, to: number) {
  writer.view.setInt32(from - LENGTH_BYTES, to - from);
  writer.at = to;
}

/** An element for what is not known. */
export function putNull(writer: ColumnWriter) {
  const at = beginElement(writer, 0);
  writer.view.setInt32(at - LENGTH_BYTES, NULL_LENGTH);
  writer.at = at;
}

/** The text that these bytes hold in UTF-8. */
function putBytes(writer: ColumnWriter, source: Uint8Array, from: number, to: number) {
  const at = beginElement(writer, to - from);
  const into = writer.bytes;
  const shift = at - from;
  for (let index = from; index < to; index++) into[index + shift] = source[index]!;
  endElement(writer, at, to + shift);
}

/** @param ms  since 1970 */
export function putMoment(writer: ColumnWriter, ms: number) {
  const at = beginElement(writer, INT8_BYTES);
  writeInt8(writer.view, at, microsecondsOf(ms));
  endElement(writer, at, at + INT8_BYTES);
}

/** A whole number that its column, int4 or int8, can hold. */
export function putInteger(writer: ColumnWriter, value: number) {
  const size = writer.type === "int8" ? INT8_BYTES : LENGTH_BYTES;
  const at = beginElement(writer, size);
  if (size === INT8_BYTES) writeInt8(writer.view, at, value);
  else writer.view.setInt32(at, value);
  endElement(writer, at, at + size);
}

/** What `elementOf` returned, which is quicker than the value where the same one comes again and again. */
export const putElement = (writer: ColumnWriter, element: Uint8Array) => putBytes(writer, element, 0, element.length);

const ASCII_MAX = 0x7f;

function putText(writer: ColumnWriter, text: string) {
  const at = beginElement(writer, 3 * text.length);
  const into = writer.bytes;
  let end = at;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > ASCII_MAX) {
      end = at + into.write(text, at);
      break;
    }
    into[end++] = code;
  }
  endElement(writer, at, end);
}

/** Records as the domain has them, packed. What is not known is undefined or null. */
export function pack<Row>(packer: Packer<Row>, rows: readonly Row[]): Packed<Row> {
  packer.begin();
  for (const [index, writer] of packer.writers.entries()) {
    const field = packer.columns[index]![2];
    for (const row of rows) {
      const value: unknown = row[field];
      if (value === undefined || value === null) putNull(writer);
      else if (typeof value === "string") putText(writer, value);
      else putElement(writer, elementOf(writer.type, value));
    }
  }
  return packer.end();
}
