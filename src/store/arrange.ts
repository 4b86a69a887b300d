import { HEADER_BYTES, writeHeader } from "./binary-array.ts";
import { newest, type Source, sourcesOf } from "./newest.ts";
import { type Packed, takePackedMemory } from "./packed.ts";

/** What one statement stores: no id twice, and in the order of ids, so that two statements take their row locks in the same order. */
export interface Arranged<Row> extends Packed<Row> {
  /** Of each column an array parameter. */
  arrays: readonly Buffer[];
}

/** Records of a batch that stay neighbours, from one place in it up to another. They are copied together. */
interface Run<Row> {
  source: Source<Row>;
  from: number;
  to: number;
}

/** The newest copy of each record in these batches, of which there is at least one, and which hold no more than `newest` takes. */
export function arrange<Row>(batches: readonly Packed<Row>[]): Arranged<Row> {
  const sources = sourcesOf(batches);
  const order = newest(batches, sources);
  const runs = runsOf(sources, order);
  const count = order.length;
  const { columns } = batches[0]!;
  const size = batches.reduce((sum, batch) => sum + bytesOf(batch), columns.length * HEADER_BYTES);
  const { memory, starts, first } = takePackedMemory(columns.length, count, size);
  const into = { memory, view: viewOf(memory), starts };
  let used = first;
  const arrays = columns.map(([, type], column) => {
    const from = used;
    used = copyColumn(runs, column, into, from + HEADER_BYTES, column * (count + 1));
    const array = memory.subarray(from, used);
    writeHeader(array, type, count);
    return array;
  });
  return { columns, count, memory, starts, arrays };
}

/** Of all elements. */
const bytesOf = ({ starts }: Packed<unknown>) => starts.at(-1)! - starts[0]!;

const viewOf = ({ buffer, byteOffset, length }: Buffer) => new DataView(buffer, byteOffset, length);

function runsOf<Row>(sources: readonly Source<Row>[], order: readonly number[]): Run<Row>[] {
  const runs: Run<Row>[] = [];
  for (let index = 0; index < order.length; ) {
    const source = sources[order[index]!]!;
    const { batch, first } = source;
    const from = order[index]! - first;
    let to = from;
    while (to < batch.count && order[index] === first + to) {
      index++;
      to++;
    }
    runs.push({ source, from, to });
  }
  return runs;
}

/** Runs of so many bytes are copied faster as a whole than four bytes at a time. */
const LONG = 128;
const FOUR = 4;

/**
 * Copies the elements of one column to `at`, and where they begin to `place` in the starts.
 *
 * @returns where they end
 */
function copyColumn<Row>(
  runs: readonly Run<Row>[],
  column: number,
  into: { memory: Buffer; view: DataView; starts: Int32Array },
  at: number,
  place: number,
): number {
  let end = at;
  let start = place;
  for (const { source, from, to } of runs) {
    const { batch, view } = source;
    const { memory, starts } = batch;
    const first = column * (batch.count + 1);
    const begin = starts[first + from]!;
    const length = starts[first + to]! - begin;
    const shift = end - begin;
    for (let index = first + from; index < first + to; index++) into.starts[start++] = starts[index]! + shift;
    if (length >= LONG) memory.copy(into.memory, end, begin, begin + length);
    // The last four may go beyond the end, where what comes next is written over them.
    else
      for (let index = 0; index < length; index += FOUR)
        into.view.setInt32(end + index, view.getInt32(begin + index, true), true);
    end += length;
  }
  into.starts[start] = end;
  return end;
}
