import type { Packed } from "../../store/packed.ts";
import { type Packer, putNull } from "../../store/packer.ts";
import { type Body, behindSpaces, bodyOf, type Mark, markOf, passedByte, SPACE, stands, WRONG } from "./body.ts";
import type { Field } from "./fields.ts";
import { packValue, type ValuePacker, valuePacker } from "./pack-value.ts";

const COMMA = 0x2c;
const ARRAY_START = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;

/** A field on the way through a record. */
interface Stop {
  /** As it stands in a body, with quotes and colon. */
  key: Mark;
  /** The same, behind the field before, where no spaces are. */
  following: Mark;
  value: ValuePacker;
  /** The number of the record in which it stood last. */
  seenIn: number;
  /** The one that came after it last: most programs write all records in one order. */
  next: Stop | undefined;
}

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
      key: keyOf(name),
      following: markOf(`,"${name}":`),
      value: valuePacker(field, writerOf(name)),
      seenIn: 0,
      next: undefined,
    }),
  );
  const optional = stops.filter(({ value }) => !value.required).map(({ value }) => value.column);
  const required = stops.length - optional.length;

  return (bytes: Buffer): Packed<Row> | undefined => {
    packer.begin();
    for (const stop of stops) stop.seenIn = 0;
    const body = bodyOf(bytes);
    let at = passedByte(body, 0, OBJECT_START);
    at = at === WRONG ? WRONG : passedRecordsKey(body, at);
    at = at === WRONG ? WRONG : passedByte(body, at, ARRAY_START);
    at = at === WRONG ? WRONG : walkRecords(body, at);
    at = at === WRONG ? WRONG : passedByte(body, at, OBJECT_END);
    return at !== WRONG && behindSpaces(body, at) === bytes.length ? packer.end() : undefined;
  };

  function passedRecordsKey(body: Body, from: number): number {
    const at = behindSpaces(body, from);
    return stands(body, at, records) ? at + records.length : WRONG;
  }

  function walkRecords(body: Body, from: number): number {
    let at = from;
    for (let number = 1; number <= most; number++) {
      at = passedByte(body, at, OBJECT_START);
      if (at !== WRONG) at = walkRecord(body, at, number);
      if (at === WRONG) return WRONG;
      if (body.bytes[at]! <= SPACE) at = behindSpaces(body, at);
      if (body.bytes[at] !== COMMA) return passedByte(body, at, ARRAY_END);
      at++;
    }
    return WRONG;
  }

  /** Packs each field of the record that begins before this; WRONG when one is missing, unknown, there twice, or not what it must be. */
  function walkRecord(body: Body, from: number, number: number): number {
    const { bytes } = body;
    let at = behindSpaces(body, from);
    let stop = stopAt(body, at, stops[0]);
    if (stop) at += stop.key.length;
    let missing = required;
    while (stop && stop.seenIn !== number) {
      stop.seenIn = number;
      at = packValue(stop.value, body, at);
      if (at === WRONG) return WRONG;
      if (stop.value.required) missing--;
      const expected = stop.next;
      if (expected && stands(body, at, expected.following)) {
        at += expected.following.length;
        stop = expected;
        continue;
      }
      if (bytes[at]! <= SPACE) at = behindSpaces(body, at);
      if (bytes[at] === OBJECT_END) return missing > 0 ? WRONG : endRecord(at + 1, number);
      if (bytes[at] !== COMMA) return WRONG;
      at = behindSpaces(body, at + 1);
      const next = stopAt(body, at, expected);
      if (next) at += next.key.length;
      if (next !== expected) stop.next = next;
      stop = next;
    }
    return WRONG;
  }

  /** The field whose key stands here; most likely it is the expected one. */
  function stopAt(body: Body, at: number, expected: Stop | undefined): Stop | undefined {
    return expected && stands(body, at, expected.key) ? expected : stops.find(({ key }) => stands(body, at, key));
  }

  /** Packs what a record that has all it must have does not have: the columns without an element of it. */
  function endRecord(at: number, number: number): number {
    for (let index = 0; index < optional.length; index++) {
      const column = optional[index]!;
      if (column.count !== number) putNull(column);
    }
    return at;
  }
}

const keyOf = (name: string) => markOf(`"${name}":`);
