import { type LearnedModel, newLearnedModel } from "../engine/learned/learned-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT } from "../engine/learned/merchant-parameters.ts";
import { PART_COUNT, setPart, splitIntoParts } from "../engine/learned/model-parts.ts";
import { fromPretrained, MODEL_LAYOUT, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import type { Tx } from "../postgres/database.ts";
import { partsSince } from "../tables/learned-models.ts";

/** A model in memory, and which version of the stored one it is; 0: nothing is stored, it is the prior. */
export interface HeldModel {
  learned: LearnedModel;
  version: number;
}

/** Numbers as they are stored: float8, little-endian, as every machine that Node runs on has them. */
export const toBytes = (numbers: Float64Array): Buffer =>
  Buffer.from(numbers.buffer.slice(numbers.byteOffset, numbers.byteOffset + numbers.byteLength));

/** @throws RangeError when the bytes are no numbers */
function parseNumbers(bytes: Buffer): Float64Array {
  if (bytes.length % 8 !== 0) throw new RangeError(`${bytes.length} bytes are no whole number of numbers`);
  return new Float64Array(new Uint8Array(bytes).buffer);
}

/** A merchant's own numbers, or those of one that nothing is known of. */
export function parseMerchantParameters(bytes: Buffer | null): Float64Array {
  if (bytes === null) return DEFAULT_MERCHANT_PARAMETERS;
  const numbers = parseNumbers(bytes);
  if (!numbers.every(Number.isFinite)) throw new RangeError("a merchant's own part of the model is unreadable");
  // Of an earlier layout: the model that it belongs to is learned anew, and this with it.
  if (numbers.length !== MERCHANT_PARAMETER_COUNT) return DEFAULT_MERCHANT_PARAMETERS;
  return numbers;
}

export const DEFAULT_MERCHANT_PARAMETERS: Float64Array = copyMerchantParameters(newLearnedModel());

/** What is known before anything was learned. */
export const createPretrainedModel = (prior: PretrainedModel): HeldModel => ({
  learned: fromPretrained(prior),
  version: 0,
});

/** The stored numbers of a model are of no use: they must be learned again. */
export class UnreadableModel extends Error {}

/**
 * Bring a model up to a version that is stored. Nobody may be deciding by it meanwhile.
 *
 * @throws UnreadableModel when what is stored is damaged, incomplete, or of another layout
 */
export async function updateModel(
  tx: Tx,
  modelId: string,
  held: HeldModel,
  stored: { layout: string; version: number },
) {
  if (stored.layout !== MODEL_LAYOUT)
    throw new UnreadableModel(`the stored model is of layout ${stored.layout}, this program's of ${MODEL_LAYOUT}`);
  if (stored.version === held.version) return;
  const parts = await partsSince(tx, modelId, held.version);
  if (held.version === 0 && parts.filter(({ name }) => !name.startsWith("country/")).length < PART_COUNT)
    throw new UnreadableModel("the stored model is not complete");
  try {
    const places = splitIntoParts(held.learned);
    for (const { name, numbers } of parts) setPart(held.learned, name, parseNumbers(numbers), places);
  } catch (error) {
    throw new UnreadableModel((error as Error).message);
  }
  // What was written between the two reads came as a whole.
  held.version = parts.reduce((latest, { version }) => Math.max(latest, version), stored.version);
}
