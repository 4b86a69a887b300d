import assert from "node:assert/strict";
import { columnOf, LENGTH_BYTES, type Packed } from "./packed.ts";

/** As many records as are looked at together at most. */
const RECORDS_MAX = 2 ** 13;
/** Together with the number of a record as much of an id as a number can hold exactly. */
const LEAD_BYTES = 5;

/** Of each record what its id begins with, behind what all have in common, and then its number: such keys the runtime sorts natively. */
const keys = new Float64Array(RECORDS_MAX);

/** Where a record comes from: its batch, and the number of the first one in it. Records are numbered through all batches. */
export interface Source<Row> {
  batch: Packed<Row>;
  /** Over the memory of the batch. */
  view: DataView;
  first: number;
}

/** By the numbers of the records. */
export function sourcesOf<Row>(batches: readonly Packed<Row>[]): Source<Row>[] {
  const count = batches.reduce((sum, batch) => sum + batch.count, 0);
  const sources = new Array<Source<Row>>(count);
  let first = 0;
  for (const batch of batches) {
    const { buffer, byteOffset, length } = batch.memory;
    sources.fill({ batch, view: new DataView(buffer, byteOffset, length), first }, first, first + batch.count);
    first += batch.count;
  }
  return sources;
}

/**
 * Splits records so that no wave holds an id twice: stored one wave after the other, several versions of one record are stored in the order in which they
 * came, as they would be by several requests. There is one wave unless an id stands twice.
 *
 * @param sources  of `batches`, which hold at most `RECORDS_MAX`
 * @returns their numbers, each wave in the order of ids
 */
export function wavesOf<Row>(batches: readonly Packed<Row>[], sources: readonly Source<Row>[]): number[][] {
  const count = sources.length;
  assert(count <= RECORDS_MAX, `${count} records are more than ${RECORDS_MAX}`);
  // Many billing systems push in the order of their ids: then there is nothing to do.
  if (writeKeys(batches)) return [Array.from({ length: count }, (_, number) => number)];
  keys.subarray(0, count).sort();
  const first: number[] = [];
  const waves = [first];
  for (let index = 0; index < count; ) {
    const lead = Math.floor(keys[index]! / RECORDS_MAX);
    const from = first.length;
    for (; index < count; index++) {
      const number = keys[index]! - lead * RECORDS_MAX;
      if (number >= RECORDS_MAX) break;
      first.push(number);
    }
    if (first.length > from + 1) addAlike(waves, sources, first.splice(from));
  }
  return waves;
}

/** @returns whether the keys say that each id is more than the one before */
function writeKeys<Row>(batches: readonly Packed<Row>[]): boolean {
  const column = columnOf(batches[0]!, "id");
  const common = commonBytes(batches, column);
  let number = 0;
  let isAscending = true;
  let before = -1;
  for (const { count, memory, starts } of batches) {
    const first = column * (count + 1);
    for (let place = first; place < first + count; place++) {
      const lead = leadOf(memory, starts[place]! + LENGTH_BYTES + common, starts[place + 1]!);
      if (lead <= before) isAscending = false;
      before = lead;
      keys[number] = lead * RECORDS_MAX + number;
      number++;
    }
  }
  return isAscending;
}

/** How many bytes all ids begin with alike. */
function commonBytes<Row>(batches: readonly Packed<Row>[], column: number): number {
  let common = Number.POSITIVE_INFINITY;
  const { count, memory: one, starts } = batches[0]!;
  const begin = starts[column * (count + 1)]! + LENGTH_BYTES;
  for (const { count, memory, starts } of batches) {
    const first = column * (count + 1);
    for (let place = first; place < first + count; place++) {
      const from = starts[place]! + LENGTH_BYTES;
      common = Math.min(common, starts[place + 1]! - from);
      for (let index = 0; index < common; index++) if (memory[from + index] !== one[begin + index]) common = index;
    }
  }
  return common;
}

/** The number that the next bytes of an id make; it is less where an id ends before: no id holds a zero. */
function leadOf(bytes: Buffer, from: number, to: number): number {
  let lead = 0;
  for (let at = from; at < from + LEAD_BYTES; at++) lead = lead * 256 + (at < to ? bytes[at]! : 0);
  return lead;
}

/** Adds records that their keys can't tell apart, which come in the order of their numbers. */
function addAlike<Row>(waves: number[][], sources: readonly Source<Row>[], numbers: readonly number[]) {
  const versions = numbers.map((number) => ({ number, id: idOf(sources[number]!, number) }));
  // The sort is stable: versions of one record stay in the order in which they came.
  versions.sort((a, b) => a.id.compare(b.id));
  let wave = 0;
  for (const [index, { number, id }] of versions.entries()) {
    wave = index > 0 && id.equals(versions[index - 1]!.id) ? wave + 1 : 0;
    if (wave === waves.length) waves.push([]);
    waves[wave]!.push(number);
  }
}

function idOf<Row>({ batch, first }: Source<Row>, number: number): Buffer {
  const place = columnOf(batch, "id") * (batch.count + 1) + number - first;
  return batch.memory.subarray(batch.starts[place]! + LENGTH_BYTES, batch.starts[place + 1]!);
}
