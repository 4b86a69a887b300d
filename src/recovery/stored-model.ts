import { type Learned, newLearned } from "../model/learned.ts";
import { OWN_SIZE, ownOf } from "../model/own.ts";
import { PARTS, partsOf, putPart } from "../model/parts.ts";
import { fromPrior, LAYOUT, type Prior } from "../model/prior.ts";
import type { Tx } from "../store/database.ts";
import { partsSince } from "../store/learned.ts";

/** A model in memory, and which version of the stored one it is; 0: nothing is stored, it is the prior. */
export interface HeldModel {
  learned: Learned;
  version: number;
}

/** Numbers as they are stored: float8, little-endian, as every machine that Node runs on has them. */
export const bytesOf = (numbers: Float64Array): Buffer =>
  Buffer.from(numbers.buffer.slice(numbers.byteOffset, numbers.byteOffset + numbers.byteLength));

/** @throws RangeError when the bytes are no numbers */
function numbersOf(bytes: Buffer): Float64Array {
  if (bytes.length % 8 !== 0) throw new RangeError(`${bytes.length} bytes are no whole number of numbers`);
  return new Float64Array(new Uint8Array(bytes).buffer);
}

/** A merchant's own numbers, or those of one that nothing is known of. */
export function ownNumbers(bytes: Buffer | null): Float64Array {
  if (bytes === null) return NOBODY;
  const numbers = numbersOf(bytes);
  if (!numbers.every(Number.isFinite)) throw new RangeError("a merchant's own part of the model is unreadable");
  // Of an earlier layout: the model that it belongs to is learned anew, and this with it.
  if (numbers.length !== OWN_SIZE) return NOBODY;
  return numbers;
}

export const NOBODY: Float64Array = ownOf(newLearned());

/** What is known before anything was learned. */
export const newModel = (prior: Prior): HeldModel => ({ learned: fromPrior(prior), version: 0 });

/** The stored numbers of a model are of no use: they must be learned again. */
export class UnreadableModel extends Error {}

/**
 * Bring a model up to a version that is stored. Nobody may be deciding by it meanwhile.
 *
 * @throws UnreadableModel when what is stored is damaged, incomplete, or of another layout
 */
export async function catchUp(tx: Tx, modelId: string, held: HeldModel, stored: { layout: string; version: number }) {
  if (stored.layout !== LAYOUT)
    throw new UnreadableModel(`the stored model is of layout ${stored.layout}, this program's of ${LAYOUT}`);
  if (stored.version === held.version) return;
  const parts = await partsSince(tx, modelId, held.version);
  if (held.version === 0 && parts.filter(({ name }) => !name.startsWith("country/")).length < PARTS)
    throw new UnreadableModel("the stored model is not complete");
  try {
    const places = partsOf(held.learned);
    for (const { name, numbers } of parts) putPart(held.learned, name, numbersOf(numbers), places);
  } catch (error) {
    throw new UnreadableModel((error as Error).message);
  }
  // What was written between the two reads came as a whole.
  held.version = parts.reduce((latest, { version }) => Math.max(latest, version), stored.version);
}
