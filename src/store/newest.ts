import assert from "node:assert/strict";
import { changedAt, columnOf, LENGTH_BYTES, type Packed } from "./packed.ts";

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
 * Which records stay when of each only its newest copy does.
 *
 * @param sources  of `batches`, which hold at most `RECORDS_MAX`
 * @returns their numbers, in the order of their ids
 */
export function newest<Row>(batches: readonly Packed<Row>[], sources: readonly Source<Row>[]): number[] {
  const count = sources.length;
  assert(count <= RECORDS_MAX, `${count} records are more than ${RECORDS_MAX}`);
  // Many billing systems push in the order of their ids: then there is nothing to do.
  if (writeKeys(batches)) return Array.from({ length: count }, (_, number) => number);
  keys.subarray(0, count).sort();
  const order: number[] = [];
  for (let index = 0; index < count; ) {
    const lead = Math.floor(keys[index]! / RECORDS_MAX);
    const from = order.length;
    for (; index < count; index++) {
      const number = keys[index]! - lead * RECORDS_MAX;
      if (number >= RECORDS_MAX) break;
      order.push(number);
    }
    if (order.length > from + 1) order.push(...newestOfAlike(sources, order.splice(from)));
  }
  return order;
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

/** `newest` of records that their keys can't tell apart, which come in the order of their numbers. */
function newestOfAlike<Row>(sources: readonly Source<Row>[], numbers: readonly number[]): number[] {
  const copies = numbers.map((number) => copyOf(sources[number]!, number));
  // Of equal moments the later one stays last: the sort is stable.
  copies.sort((a, b) => a.id.compare(b.id) || a.changedAt - b.changedAt);
  return copies
    .filter(({ id }, index) => index + 1 === copies.length || !id.equals(copies[index + 1]!.id))
    .map(({ number }) => number);
}

function copyOf<Row>({ batch, first }: Source<Row>, number: number) {
  const index = number - first;
  const column = columnOf(batch, "id");
  const place = column * (batch.count + 1) + index;
  const id = batch.memory.subarray(batch.starts[place]! + LENGTH_BYTES, batch.starts[place + 1]!);
  return { number, id, changedAt: changedAt(batch, index) };
}
