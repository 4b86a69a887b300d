import { HEADER_BYTES, writeHeader } from "./binary-array.ts";
import { type Packed, takePackedMemory } from "./packed.ts";
import { type Source, sourcesOf, wavesOf } from "./waves.ts";

/** What one statement stores: no id twice, and in the order of ids, so that two statements take their row locks in the same order. */
export interface Arranged<Row> extends Packed<Row> {
  /** Of each column an array parameter. */
  arrays: readonly Buffer[];
  /** The batch that each record comes from, by its place in the list that was arranged. */
  batchOf(index: number): number;
}

/**
 * These batches, of which there is at least one, as statements store them one after the other: no statement holds an id twice.
 *
 * @param batches  no more records than `wavesOf` takes
 */
export function arrange<Row>(batches: readonly Packed<Row>[]): Arranged<Row>[] {
  const sources = sourcesOf(batches);
  return wavesOf(batches, sources).map((order) => arrangeWave(batches, sources, order));
}

function arrangeWave<Row>(
  batches: readonly Packed<Row>[],
  sources: readonly Source<Row>[],
  order: readonly number[],
): Arranged<Row> {
  const count = order.length;
  const { columns } = batches[0]!;
  const sizes = columns.map((_, column) => HEADER_BYTES + bytesOf(batches, column));
  const size = sizes.reduce((sum, each) => sum + each);
  const { memory, starts, first } = takePackedMemory(columns.length, count, size);
  const into: Columns = { memory, view: viewOf(memory), starts, count, ends: new Int32Array(columns.length) };
  let used = first;
  for (const [column, each] of sizes.entries()) {
    into.ends[column] = used + HEADER_BYTES;
    used += each;
  }
  copyAll(sources, order, into);
  used = first;
  const arrays = columns.map(([, type], column) => {
    const array = memory.subarray(used, into.ends[column]);
    writeHeader(array, type, count);
    starts[column * (count + 1) + count] = into.ends[column]!;
    used += sizes[column]!;
    return array;
  });
  const batchOf = (index: number) => batches.indexOf(sources[order[index]!]!.batch);
  return { columns, count, memory, starts, arrays, batchOf };
}

/** Of all elements of a column. */
const bytesOf = (batches: readonly Packed<unknown>[], column: number) =>
  batches.reduce((sum, { count, starts }) => {
    const first = column * (count + 1);
    return sum + starts[first + count]! - starts[first]!;
  }, 0);

const viewOf = ({ buffer, byteOffset, length }: Buffer) => new DataView(buffer, byteOffset, length);

/** Where records are copied to. */
interface Columns {
  memory: Buffer;
  view: DataView;
  starts: Int32Array;
  /** Of all records. */
  count: number;
  /** Where the next element of each column goes. */
  ends: Int32Array;
}

/** Copies the records of these numbers, those together that stay neighbours. */
function copyAll<Row>(sources: readonly Source<Row>[], order: readonly number[], into: Columns) {
  for (let index = 0; index < order.length; ) {
    const number = order[index]!;
    const source = sources[number]!;
    const { batch, first } = source;
    const most = Math.min(order.length - index, first + batch.count - number);
    let length = 1;
    while (length < most && order[index + length] === number + length) length++;
    copyRun(source, number - first, length, into, index);
    index += length;
  }
}

/** Runs of so many bytes are copied faster as a whole than four bytes at a time. */
const LONG = 128;
const FOUR = 4;

/** Copies so many records of a batch, from one place in it on, to where `index` were copied before. */
function copyRun<Row>({ batch, view }: Source<Row>, from: number, length: number, into: Columns, index: number) {
  const { memory, starts, count } = batch;
  const { ends } = into;
  let place = from;
  let start = index;
  for (let column = 0; column < ends.length; column++) {
    const begin = starts[place]!;
    const bytes = starts[place + length]! - begin;
    const end = ends[column]!;
    for (let each = 0; each < length; each++) into.starts[start + each] = starts[place + each]! + end - begin;
    if (bytes >= LONG) {
      memory.copy(into.memory, end, begin, begin + bytes);
    } else {
      // The last four may go beyond the end, where what comes next, or a header, is written over them.
      for (let at = 0; at < bytes; at += FOUR) into.view.setInt32(end + at, view.getInt32(begin + at, true), true);
    }
    ends[column] = end + bytes;
    place += count + 1;
    start += into.count + 1;
  }
}
