import { HEADER_BYTES, writeHeader } from "./binary-array.ts";
import { changedAt, isNull, type Packed, takePackedMemory } from "./packed.ts";

/** What one statement stores: no id twice, and in the order of ids, so that two statements take their row locks in the same order. */
export interface Arranged<Row> extends Packed<Row> {
  /** Of each column an array parameter. */
  arrays: readonly Buffer[];
}

/** Where a record stands: in which batch, and where in it. */
interface Place {
  id: string;
  batch: number;
  index: number;
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
  return { columns, count, ids: places.map(({ id }) => id), elements, starts, memory, arrays };
}

function newest<Row>(batches: readonly Packed<Row>[]): Place[] {
  const places = batches.flatMap(({ ids }, batch) => ids.map((id, index): Place => ({ id, batch, index })));
  // Many billing systems push in the order of their ids: then there is nothing to do.
  if (places.every(({ id }, index) => index === 0 || places[index - 1]!.id < id)) return places;
  const when = ({ batch, index }: Place) => changedAt(batches[batch]!, index);
  // Of equal moments the later one stays last: the sort is stable. A map of ids would take three times as long.
  places.sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : when(a) - when(b)));
  return places.filter(({ id }, index) => id !== places[index + 1]?.id);
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
