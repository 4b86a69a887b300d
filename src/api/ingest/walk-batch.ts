import { elementOf } from "../../store/binary-array.ts";
import type { Packed } from "../../store/packed.ts";
import {
  type ColumnWriter,
  lastText,
  type Packer,
  putBytes,
  putElement,
  putInteger,
  putMoment,
  putNull,
  putSame,
} from "../../store/packer.ts";
import { momentIn } from "../json/moment.ts";
import { type Field, fitsField } from "./fields.ts";

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const HYPHEN = 0x2d;
const ZERO = 0x30;
const ARRAY_START = 0x5b;
const ARRAY_END = 0x5d;
const LETTER_A = 0x61;
const LETTER_N = 0x6e;
const LETTER_Z = 0x7a;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;
const NULL = Buffer.from("null");

const ID_BYTES_MAX = 255;
/** More may not be a whole number within 2^53. */
const DIGITS_MAX = 15;
// Records are sorted by it.
const KEY = "id";
// States, currencies and brands are few, and short.
const WORDS_MAX = 8;
const WORD_BYTES_MAX = 64;

/** A field on the way through a record. */
interface Stop {
  name: string;
  field: Field;
  /** Of the field, read from one kind of object: fields have one or another, and to look for them takes longer. */
  form: Field["form"];
  required: boolean;
  least: number;
  most: number;
  /** Its key as it stands in a body, with quotes and colon. */
  written: Uint8Array;
  /** Where its values go. */
  column: ColumnWriter;
  /** The number of the record in which it stood last. */
  seenIn: number;
  /** The one that came after it last: most programs write all records in one order. */
  next: Stop | undefined;
  /** What it held lately, as it was written and as it is stored. */
  words: { written: Uint8Array; element: Uint8Array }[];
  /** Which of them is forgotten next. */
  turn: number;
}

/** In place of the position behind what was looked for. */
const WRONG = -1;

/**
 * A reader of bodies that are as nearly all are: nothing but records of known fields, none twice. One walk over the bytes does what it takes to
 * parse them, to look for what parsing changed, to check them and to pack each field.
 *
 * @param most  records in a body
 * @returns  given a body of ASCII without a backslash or DEL: its records, or undefined when it is wrong or only unusual, which is not told apart
 */
export function createWalk<Row>(
  name: string,
  fields: readonly (readonly [string, Field])[],
  packer: Packer<Row>,
  most: number,
) {
  const records = keyOf(name);
  const writerOf = (field: string) => packer.writers[packer.columns.findIndex(([, , name]) => name === field)]!;
  const stops = fields.map(
    ([name, field]): Stop => ({
      name,
      field,
      form: field.form,
      required: field.required,
      least: field.range?.[0] ?? 0,
      most: field.range?.[1] ?? 0,
      written: keyOf(name),
      column: writerOf(name),
      seenIn: 0,
      next: undefined,
      words: [],
      turn: 0,
    }),
  );
  const required = stops.filter((stop) => stop.required).length;
  const id = writerOf(KEY);
  const createdAt = writerOf("createdAt");
  const updatedAt = writerOf("updatedAt");
  const ids: string[] = [];

  return (body: Buffer): Packed<Row> | undefined => {
    packer.begin();
    ids.length = 0;
    for (const stop of stops) stop.seenIn = 0;
    let at = passedByte(body, 0, OBJECT_START);
    at = at === WRONG ? WRONG : passedKey(body, at, records);
    at = at === WRONG ? WRONG : walkRecords(body, at);
    at = at === WRONG ? WRONG : passedByte(body, at, OBJECT_END);
    return at !== WRONG && behindSpaces(body, at) === body.length ? packer.end(ids.slice()) : undefined;
  };

  function walkRecords(bytes: Buffer, from: number): number {
    let at = passedByte(bytes, from, ARRAY_START);
    for (let number = 1; at !== WRONG && number <= most; number++) {
      at = walkRecord(bytes, at, number);
      if (at === WRONG) return WRONG;
      ids.push(lastText(id));
      if (bytes[at]! <= SPACE) at = behindSpaces(bytes, at);
      if (bytes[at] !== COMMA) return passedByte(bytes, at, ARRAY_END);
      at++;
    }
    return WRONG;
  }

  /** Packs each field of the record that begins here; WRONG when one is missing, unknown, there twice, or not what it must be. */
  function walkRecord(bytes: Buffer, from: number, number: number): number {
    let at = passedByte(bytes, from, OBJECT_START);
    if (at === WRONG) return WRONG;
    let last: Stop | undefined;
    let expected = stops[0];
    let missing = required;
    for (;;) {
      if (bytes[at]! <= SPACE) at = behindSpaces(bytes, at);
      const here = at;
      const stop =
        expected && stands(bytes, at, expected.written)
          ? expected
          : stops.find(({ written }) => stands(bytes, here, written));
      if (!stop || stop.seenIn === number) return WRONG;
      at = packValue(stop, bytes, at + stop.written.length);
      if (at === WRONG) return WRONG;
      stop.seenIn = number;
      if (stop.required) missing--;
      if (last) last.next = stop;
      last = stop;
      expected = stop.next;
      if (bytes[at]! <= SPACE) at = behindSpaces(bytes, at);
      const byte = bytes[at++];
      if (byte === COMMA) continue;
      if (byte !== OBJECT_END || missing > 0) return WRONG;
      for (let index = 0; index < stops.length; index++) {
        const { column } = stops[index]!;
        if (column.count === number) continue;
        if (column === updatedAt) putSame(column, createdAt);
        else putNull(column);
      }
      return at;
    }
  }
}

const keyOf = (name: string) => Buffer.from(`"${name}":`);

/** Packs the value that begins here, if there is one; WRONG when it is not what its field wants. */
function packValue(stop: Stop, bytes: Buffer, from: number): number {
  const at = bytes[from]! <= SPACE ? behindSpaces(bytes, from) : from;
  if (bytes[at] === LETTER_N) return stands(bytes, at, NULL) && !stop.required ? at + NULL.length : WRONG;
  const { form } = stop;
  if (form === "identifier") return packIdentifier(stop, bytes, at);
  if (form === "moment") return packMoment(stop, bytes, at);
  return form === "integer" ? packInteger(stop, bytes, at) : packWord(stop, bytes, at);
}

function packIdentifier({ field, column }: Stop, bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) return WRONG;
  const start = at + 1;
  // Digits, as those of a card number: in ASCII only these two bytes set groups apart.
  let mayBeGrouped = false;
  let end = start;
  for (; end < bytes.length; end++) {
    const byte = bytes[end]!;
    if (byte > HYPHEN) continue;
    if (byte === QUOTE) break;
    if (byte < SPACE) return WRONG;
    if (byte === SPACE || byte === HYPHEN) mayBeGrouped = true;
  }
  if (end === start || end - start > ID_BYTES_MAX) return WRONG;
  if (mayBeGrouped && field.holdsCard?.(bytes.toString("latin1", start, end))) return WRONG;
  putBytes(column, bytes, start, end);
  return end + 1;
}

function packMoment({ column }: Stop, bytes: Buffer, at: number): number {
  if (bytes[at] !== QUOTE) return WRONG;
  const end = closingQuote(bytes, at);
  const time = momentIn(bytes, at + 1, end);
  if (Number.isNaN(time)) return WRONG;
  putMoment(column, time);
  return end + 1;
}

function packInteger({ least, most, column }: Stop, bytes: Buffer, at: number): number {
  let value = 0;
  let end = at;
  for (; end < bytes.length; end++) {
    const digit = bytes[end]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  const digits = end - at;
  if (digits === 0 || digits > DIGITS_MAX || (digits > 1 && bytes[at] === ZERO)) return WRONG;
  if (value < least || value > most) return WRONG;
  putInteger(column, value);
  return end;
}

/** Any other value that is no object, array or number. What was read lately is known again by its bytes. */
function packWord(stop: Stop, bytes: Buffer, at: number): number {
  const { words, column } = stop;
  for (let index = 0; index < words.length; index++) {
    const { written, element } = words[index]!;
    if (!stands(bytes, at, written)) continue;
    putElement(column, element);
    return at + written.length;
  }
  const end = bytes[at] === QUOTE ? closingQuote(bytes, at) + 1 : endOfLetters(bytes, at);
  const written = bytes.toString("latin1", at, end);
  const value = readWord(stop.field, written);
  if (value === undefined) return WRONG;
  const element = elementOf(column.type, value);
  putElement(column, element);
  if (written.length <= WORD_BYTES_MAX) {
    words[stop.turn] = { written: Buffer.from(written), element };
    stop.turn = (stop.turn + 1) % WORDS_MAX;
  }
  return end;
}

function readWord(field: Field, written: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(written);
  } catch {
    return undefined;
  }
  if (!fitsField(field, value) || field.holdsCard?.(value as string)) return undefined;
  return field.read(value, true);
}

/** Of the string that begins here; behind the end when it has none. */
function closingQuote(bytes: Buffer, at: number) {
  let end = at + 1;
  while (end < bytes.length && bytes[end] !== QUOTE) end++;
  return end;
}

function endOfLetters(bytes: Buffer, at: number) {
  let end = at;
  while (bytes[end]! >= LETTER_A && bytes[end]! <= LETTER_Z) end++;
  return end;
}

function behindSpaces(bytes: Buffer, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte > SPACE || (byte !== SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB)) break;
  }
  return at;
}

/** The position behind this byte, if it comes next, after spaces. */
function passedByte(bytes: Buffer, from: number, byte: number): number {
  const at = bytes[from]! <= SPACE ? behindSpaces(bytes, from) : from;
  return bytes[at] === byte ? at + 1 : WRONG;
}

/** The position behind this key, if it comes next, after spaces. */
function passedKey(bytes: Buffer, from: number, written: Uint8Array): number {
  const at = behindSpaces(bytes, from);
  return stands(bytes, at, written) ? at + written.length : WRONG;
}

/** Whether this stands here. */
function stands(bytes: Buffer, at: number, written: Uint8Array): boolean {
  const { length } = written;
  if (at + length > bytes.length) return false;
  for (let index = 0; index < length; index++) if (bytes[at + index] !== written[index]) return false;
  return true;
}
