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
// Records are sorted by it. A string of its own is compared in a quarter of the time that a slice of the text takes.
const KEY = "id";
// States, currencies and brands are few, and short.
const WORDS_MAX = 8;
const WORD_BYTES_MAX = 64;
// A merchant's records have a handful.
const SHAPES_MAX = 64;

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
  /** Its own power of two: the sum of those that a record has says which shape it is. */
  weight: number;
  /** The number of the record in which it stood last, and its value there; undefined for null. */
  seenIn: number;
  value: unknown;
  /** The one that came after it last: most programs write all records in one order. */
  next: Stop | undefined;
  /** What it held lately, as it was written and as it was read. */
  words: { written: Uint8Array; value: unknown }[];
  /** Which of them is forgotten next. */
  turn: number;
}

/** Which fields a record has. */
interface Shape {
  present: Stop[];
  /** A row that has them all, to be copied: quicker than to add them one by one. */
  blank: Record<string, unknown>;
}

// Where the walk is. Nothing waits on the way, so there is one walk at a time.
let bytes: Buffer = Buffer.alloc(0);
let text = "";
let at = 0;

/**
 * A reader of bodies that are as nearly all are: nothing but records of known fields, none twice. One walk over the bytes does what it takes to
 * parse them, to look for what parsing changed, to check them and to read each field, in less than half the time.
 *
 * @param most  records in a body
 * @returns  given a body of ASCII without a backslash or DEL: its records, or undefined when it is wrong or only unusual, which is not told apart
 */
export function createWalk(name: string, fields: readonly (readonly [string, Field])[], most: number) {
  const records = keyOf(name);
  const stops = fields.map(
    ([name, field], index): Stop => ({
      name,
      field,
      form: field.form,
      required: field.required,
      least: field.range?.[0] ?? 0,
      most: field.range?.[1] ?? 0,
      written: keyOf(name),
      weight: 2 ** index,
      seenIn: 0,
      value: undefined,
      next: undefined,
      words: [],
      turn: 0,
    }),
  );

  const required = stops.filter((stop) => stop.required).length;
  const shapes = new Map<number, Shape>();

  return (body: Buffer): Record<string, unknown>[] | undefined => {
    bytes = body;
    text = body.toString("latin1");
    at = 0;
    for (const stop of stops) stop.seenIn = 0;
    const rows = passesByte(OBJECT_START) && passesKey(records) ? walkRecords() : undefined;
    if (!rows || !passesByte(OBJECT_END)) return undefined;
    skipSpaces();
    return at === bytes.length ? rows : undefined;
  };

  function walkRecords() {
    const rows: Record<string, unknown>[] = [];
    if (!passesByte(ARRAY_START)) return undefined;
    do {
      const number = rows.length + 1;
      const shape = number <= most ? walkRecord(number) : undefined;
      if (!shape) return undefined;
      rows.push(rowOf(shape));
    } while (passesByte(COMMA));
    return passesByte(ARRAY_END) ? rows : undefined;
  }

  /** Takes the value of each field of the record that begins here; undefined when one is missing, unknown, there twice, or wrong. */
  function walkRecord(number: number): Shape | undefined {
    if (!passesByte(OBJECT_START)) return undefined;
    let last: Stop | undefined;
    let expected = stops[0];
    let missing = required;
    let weight = 0;
    do {
      const stop = expected && passesKey(expected.written) ? expected : stops.find(({ written }) => passesKey(written));
      if (!stop || stop.seenIn === number || !takeValue(stop)) return undefined;
      stop.seenIn = number;
      if (stop.value !== undefined) weight += stop.weight;
      if (stop.required) missing--;
      if (last) last.next = stop;
      last = stop;
      expected = stop.next;
    } while (passesByte(COMMA));
    return missing === 0 && passesByte(OBJECT_END) ? shapeOf(weight, number) : undefined;
  }

  function shapeOf(weight: number, number: number): Shape {
    const known = shapes.get(weight);
    if (known) return known;
    const present = stops.filter(({ seenIn, value }) => seenIn === number && value !== undefined);
    const shape = { present, blank: Object.fromEntries(present.map(({ name }) => [name, undefined])) };
    if (shapes.size === SHAPES_MAX) shapes.clear();
    shapes.set(weight, shape);
    return shape;
  }
}

function rowOf({ present, blank }: Shape) {
  const row = { ...blank };
  for (let index = 0; index < present.length; index++) {
    const { name, value } = present[index]!;
    row[name] = value;
  }
  if (row.updatedAt === undefined) row.updatedAt = row.createdAt;
  return row;
}

const keyOf = (name: string) => Buffer.from(`"${name}":`);

/** Takes the value that begins here; false when it is not what its field wants. */
function takeValue(stop: Stop): boolean {
  if (bytes[at]! <= SPACE) skipSpaces();
  stop.value = undefined;
  if (bytes[at] === LETTER_N) return passes(NULL) && !stop.required;
  stop.value = takeAny(stop);
  return stop.value !== undefined;
}

function takeAny(stop: Stop): unknown {
  const { form } = stop;
  if (form === "identifier") return takeIdentifier(stop);
  if (form === "moment") return takeMoment();
  return form === "integer" ? takeInteger(stop) : takeWord(stop);
}

function takeIdentifier({ name, field }: Stop): string | undefined {
  if (bytes[at] !== QUOTE) return undefined;
  const start = at + 1;
  // Digits, as those of a card number: in ASCII only these two bytes set groups apart.
  let mayBeGrouped = false;
  let end = start;
  for (const within = bytes; end < within.length; end++) {
    const byte = within[end]!;
    if (byte > HYPHEN) continue;
    if (byte === QUOTE) break;
    if (byte < SPACE) return undefined;
    if (byte === SPACE || byte === HYPHEN) mayBeGrouped = true;
  }
  if (end === start || end - start > ID_BYTES_MAX) return undefined;
  const value = name === KEY ? bytes.toString("latin1", start, end) : text.slice(start, end);
  if (mayBeGrouped && field.holdsCard?.(value)) return undefined;
  at = end + 1;
  return value;
}

function takeMoment(): Date | undefined {
  if (bytes[at] !== QUOTE) return undefined;
  const end = closingQuote();
  const time = momentIn(bytes, at + 1, end);
  at = end + 1;
  return Number.isNaN(time) ? undefined : new Date(time);
}

function takeInteger({ least, most }: Stop): number | undefined {
  const within = bytes;
  const start = at;
  let value = 0;
  let end = start;
  for (; end < within.length; end++) {
    const digit = within[end]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  const digits = end - start;
  if (digits === 0 || digits > DIGITS_MAX || (digits > 1 && within[start] === ZERO)) return undefined;
  at = end;
  return value >= least && value <= most ? value : undefined;
}

/** Any other value that is no object, array or number. What was read lately is known again by its bytes. */
function takeWord(stop: Stop): unknown {
  const { words } = stop;
  for (let index = 0; index < words.length; index++) if (passes(words[index]!.written)) return words[index]!.value;
  const start = at;
  const end = bytes[start] === QUOTE ? closingQuote() + 1 : endOfLetters();
  const written = text.slice(start, end);
  const value = readWord(stop.field, written);
  if (value === undefined) return undefined;
  at = end;
  if (written.length <= WORD_BYTES_MAX) {
    stop.words[stop.turn] = { written: Buffer.from(written), value };
    stop.turn = (stop.turn + 1) % WORDS_MAX;
  }
  return value;
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
function closingQuote() {
  let end = at + 1;
  while (end < bytes.length && bytes[end] !== QUOTE) end++;
  return end;
}

function endOfLetters() {
  let end = at;
  while (bytes[end]! >= LETTER_A && bytes[end]! <= LETTER_Z) end++;
  return end;
}

function skipSpaces() {
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte > SPACE || (byte !== SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB)) return;
  }
}

/** Whether this byte comes next, after spaces; it is passed then. */
function passesByte(byte: number): boolean {
  if (bytes[at]! <= SPACE) skipSpaces();
  if (bytes[at] !== byte) return false;
  at++;
  return true;
}

/** Whether this key comes next, after spaces; it is passed then. */
function passesKey(written: Uint8Array): boolean {
  if (bytes[at]! <= SPACE) skipSpaces();
  return passes(written);
}

/** Whether this comes next; it is passed then. */
function passes(written: Uint8Array): boolean {
  const { length } = written;
  const within = bytes;
  const from = at;
  if (from + length > within.length) return false;
  for (let index = 0; index < length; index++) if (within[from + index] !== written[index]) return false;
  at = from + length;
  return true;
}
