import { HEADER_BYTES, writeHeader } from "./binary-array.ts";
import { changedAt, columnOf, isNull, LENGTH_BYTES, type Packed, takePackedMemory } from "./packed.ts";

/** What one statement stores: no id twice, and in the order of ids, so that two statements take their row locks in the same order. */
export interface Arranged<Row> extends Packed<Row> {
  /** Of each column an array parameter. */
  arrays: readonly Buffer[];
}

/** Where a record stands: in which batch, and where in it. */
interface Place {
  batch: number;
  index: number;
  /** Where its id is. */
  bytes: Buffer;
  from: number;
  to: number;
  /** By which most ids can be told apart: the bytes of this one behind what all have in common. */
  lead: number;
}

/** The newest copy of each record in these batches, of which there is at least one. */
export function arrange<Row>(batches: readonly Packed<Row>[]): Arranged<Row> {
  const places = newest(batches);
  const count = places.length;
  const { columns } = batches[0]!;
  const sizes = batches.flatMap(({ elements }) => elements.map(({ length }) => length));
  const size = sizes.reduce((sum, each) => sum + each, columns.length * HEADER_BYTES);
  const { memory, starts, bytes } = takePackedMemory(columns.length, count, size);
  let used = 0;
  const arrays = columns.map((_, column) => {
    const array = writeArray(bytes.subarray(used), batches, places, column, starts);
    used += array.length;
    return array;
  });
  const elements = arrays.map((array) => array.subarray(HEADER_BYTES));
  return { columns, count, elements, starts, memory, arrays };
}

function newest<Row>(batches: readonly Packed<Row>[]): Place[] {
  const places = placesOf(batches);
  // Many billing systems push in the order of their ids: then there is nothing to do.
  if (places.every((place, index) => index === 0 || compareIds(places[index - 1]!, place) < 0)) return places;
  const when = ({ batch, index }: Place) => changedAt(batches[batch]!, index);
  // Of equal moments the later one stays last: the sort is stable. A map of ids would take three times as long.
  places.sort((a, b) => compareIds(a, b) || when(a) - when(b));
  return places.filter((place, index) => index + 1 === places.length || compareIds(place, places[index + 1]!) !== 0);
}

function placesOf<Row>(batches: readonly Packed<Row>[]): Place[] {
  const column = columnOf(batches[0]!, "id");
  const places: Place[] = [];
  for (const [batch, { count, elements, starts }] of batches.entries()) {
    const bytes = elements[column]!;
    const first = column * (count + 1);
    for (let index = 0; index < count; index++) {
      const from = starts[first + index]! + LENGTH_BYTES;
      places.push({ batch, index, bytes, from, to: starts[first + index + 1]!, lead: 0 });
    }
  }
  const common = places.reduce((least, place) => commonBytes(places[0]!, place, least), Number.POSITIVE_INFINITY);
  for (const place of places) place.lead = leadOf(place, place.from + common);
  return places;
}

/** How many bytes two ids begin with alike, `most` at most. */
function commonBytes(a: Place, b: Place, most: number): number {
  const end = Math.min(most, a.to - a.from, b.to - b.from);
  for (let index = 0; index < end; index++) if (a.bytes[a.from + index] !== b.bytes[b.from + index]) return index;
  return end;
}

/** As many as a number can hold exactly. */
const LEAD_BYTES = 6;

/** The number that the next bytes of an id make; it is less where an id ends before: no id holds a zero. */
function leadOf({ bytes, to }: Place, from: number): number {
  let lead = 0;
  for (let at = from; at < from + LEAD_BYTES; at++) lead = lead * 256 + (at < to ? bytes[at]! : 0);
  return lead;
}

/** Less than 0, 0 or more: by the bytes of the ids. */
function compareIds(a: Place, b: Place): number {
  if (a.lead !== b.lead) return a.lead - b.lead;
  const end = Math.min(a.to - a.from, b.to - b.from);
  for (let index = 0; index < end; index++) {
    const difference = a.bytes[a.from + index]! - b.bytes[b.from + index]!;
    if (difference !== 0) return difference;
  }
  return a.to - a.from - (b.to - b.from);
}

/** Writes the array of one column into `array`, and into `starts` where its elements begin. Returns as much as it takes. */
function writeArray<Row>(
  array: Buffer,
  batches: readonly Packed<Row>[],
  places: readonly Place[],
  column: number,
  starts: Int32Array,
): Buffer {
  let at = HEADER_BYTES;
  let hasNulls = false;
  let start = column * (places.length + 1);
  for (const { batch, index } of places) {
    const packed = batches[batch]!;
    const from = packed.elements[column]!;
    const place = column * (packed.count + 1) + index;
    const end = packed.starts[place + 1]!;
    starts[start++] = at - HEADER_BYTES;
    let next = packed.starts[place]!;
    if (isNull(from, next)) hasNulls = true;
    while (next < end) array[at++] = from[next++]!;
  }
  starts[start] = at - HEADER_BYTES;
  writeHeader(array, batches[0]!.columns[column]![1], places.length, hasNulls);
  return array.subarray(0, at);
}
