import { momentIn, YEAR_MAX } from "../../domain/moment.ts";
import { elementOf } from "../../store/binary-array.ts";
import { beginElement, type ColumnWriter, endElement, putElement, putInteger, putMoment } from "../../store/packer.ts";
import { USUAL_LENGTH, usualMomentIn } from "../json/usual-moment.ts";
import { type Body, behindSpaces, FOUR, type Mark, markOf, SPACE, stands, WRONG } from "./body.ts";
import { type Field, fitsField } from "./fields.ts";

const QUOTE = 0x22;
const HYPHEN = 0x2d;
const ZERO = 0x30;
const LETTER_CAPITAL_Z = 0x5a;
const LETTER_A = 0x61;
const LETTER_N = 0x6e;
const LETTER_Z = 0x7a;
const NULL = markOf("null");

const ID_BYTES_MAX = 255;
/** Four bytes, each one more than a hyphen. */
const FOUR_ORDINARY = 0x2e2e2e2e;
const FOUR_HIGH_BITS = 0x80808080;
/** More may not be a whole number within 2^53. */
const DIGITS_MAX = 15;
// States, currencies and brands are few, and short.
const WORDS_MAX = 8;
const WORD_BYTES_MAX = 64;

/** How the values of one field are read from a body and packed. */
export interface ValuePacker {
  field: Field;
  /** Of the field, read from one kind of object: fields have one or another, and to look for them takes longer. */
  form: Field["form"];
  required: boolean;
  yearMax: number;
  least: number;
  most: number;
  /** Where they go. */
  column: ColumnWriter;
  /** What came lately, as it was written and as it is stored. */
  words: { written: Mark; element: Uint8Array }[];
  /** Which of them gives way to the next new one, once there are `WORDS_MAX`. */
  turn: number;
}

export const valuePacker = (field: Field, column: ColumnWriter): ValuePacker => ({
  field,
  form: field.form,
  required: field.required,
  yearMax: field.yearMax ?? YEAR_MAX,
  least: field.range?.[0] ?? 0,
  most: field.range?.[1] ?? 0,
  column,
  words: [],
  turn: 0,
});

/** Packs the value that begins here, after spaces, if there is one; WRONG when it is not what its field wants. */
export function packValue(packer: ValuePacker, body: Body, from: number): number {
  const at = body.bytes[from]! <= SPACE ? behindSpaces(body, from) : from;
  if (body.bytes[at] === LETTER_N) return stands(body, at, NULL) && !packer.required ? at + NULL.length : WRONG;
  const end = packGiven(packer, body, at);
  // An empty text in an optional field means absent, as null does. It is looked for last: few bodies have one.
  return end === WRONG && !packer.required && isEmptyText(body, at) ? at + 2 : end;
}

const isEmptyText = ({ bytes }: Body, at: number) => bytes[at] === QUOTE && bytes[at + 1] === QUOTE;

function packGiven(packer: ValuePacker, body: Body, at: number): number {
  const { form } = packer;
  if (form === "identifier") return packIdentifier(packer, body, at);
  if (form === "moment") return packMoment(packer, body, at);
  return form === "integer" ? packInteger(packer, body, at) : packWord(packer, body, at);
}

function packIdentifier({ field, column }: ValuePacker, { bytes, view }: Body, at: number): number {
  if (bytes[at] !== QUOTE) return WRONG;
  const start = at + 1;
  const into = beginElement(column, ID_BYTES_MAX + FOUR);
  const packed = column.view;
  const shift = into - start;
  // Where no four begins any more a right body has no byte of an identifier: behind it come a quote and what ends record, array and body.
  const lastFour = Math.min(start + ID_BYTES_MAX, bytes.length - FOUR);
  // Digits, as those of a card number: in ASCII only these two bytes set groups apart.
  let mayBeGrouped = false;
  let end = start;
  for (;;) {
    for (; end <= lastFour; end += FOUR) {
      const four = view.getInt32(end);
      packed.setInt32(end + shift, four);
      // In ASCII no byte has its highest bit set, but where one is less than what is taken from it.
      if (((four - FOUR_ORDINARY) & FOUR_HIGH_BITS) !== 0) break;
    }
    while (bytes[end]! > HYPHEN) end++;
    if (end - start > ID_BYTES_MAX) return WRONG;
    const byte = bytes[end]!;
    if (byte === QUOTE) break;
    if (!(byte >= SPACE)) return WRONG;
    if (byte === SPACE || byte === HYPHEN) mayBeGrouped = true;
    end++;
  }
  if (end === start) {
    column.count--; // what was begun is no element
    return WRONG;
  }
  if (mayBeGrouped && field.holdsCard?.(bytes.toString("latin1", start, end))) return WRONG;
  endElement(column, into, end + shift);
  return end + 1;
}

function packMoment({ column, yearMax }: ValuePacker, body: Body, at: number): number {
  const { bytes, view } = body;
  if (bytes[at] !== QUOTE) return WRONG;
  const start = at + 1;
  const usualEnd = start + USUAL_LENGTH;
  const isUsual = bytes[usualEnd] === QUOTE && bytes[usualEnd - 1] === LETTER_CAPITAL_Z;
  const end = isUsual ? usualEnd : closingQuote(body, at);
  const time = isUsual ? usualMomentIn(bytes, view, start, yearMax) : momentIn(bytes, start, end, yearMax);
  if (Number.isNaN(time)) return WRONG;
  putMoment(column, time);
  return end + 1;
}

function packInteger({ least, most, column }: ValuePacker, { bytes }: Body, at: number): number {
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
function packWord(packer: ValuePacker, body: Body, at: number): number {
  const { words, column } = packer;
  for (let index = 0; index < words.length; index++) {
    const { written, element } = words[index]!;
    if (!stands(body, at, written)) continue;
    putElement(column, element);
    return at + written.length;
  }
  const { bytes } = body;
  const end = bytes[at] === QUOTE ? closingQuote(body, at) + 1 : endOfLetters(body, at);
  const written = bytes.toString("latin1", at, end);
  const value = readWord(packer.field, written);
  if (value === undefined) return WRONG;
  if (value === null) return end; // as null itself: the end of the record puts it
  const element = elementOf(column.type, value);
  putElement(column, element);
  if (written.length >= FOUR && written.length <= WORD_BYTES_MAX) {
    words[packer.turn] = { written: markOf(written), element };
    packer.turn = (packer.turn + 1) % WORDS_MAX;
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
  if (value === "" || !fitsField(field, value) || field.holdsCard?.(value as string)) return undefined;
  return field.read(value, true);
}

/** Of the string that begins here; behind the end when it has none. */
function closingQuote({ bytes }: Body, at: number) {
  let end = at + 1;
  while (end < bytes.length && bytes[end] !== QUOTE) end++;
  return end;
}

function endOfLetters({ bytes }: Body, at: number) {
  let end = at;
  while (bytes[end]! >= LETTER_A && bytes[end]! <= LETTER_Z) end++;
  return end;
}
