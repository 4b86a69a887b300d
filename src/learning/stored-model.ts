import { type LearnedModel, newLearnedModel } from "../engine/learned/learned-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT } from "../engine/learned/merchant-parameters.ts";
import { PART_COUNT, setPart, splitIntoParts } from "../engine/learned/model-parts.ts";
import { fromPretrained, MODEL_LAYOUT, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import type { Tx } from "../postgres/database.ts";
import { partsSince } from "../tables/learned-models.ts";

/** 0: the pretrained model, nothing is stored. */
export interface HeldModel {
  learnedModel: LearnedModel;
  version: number;
}

/** As float8, little-endian, the byte order of all machines that Node supports. */
export const toBytes = (numbers: Float64Array): Buffer =>
  Buffer.from(numbers.buffer.slice(numbers.byteOffset, numbers.byteOffset + numbers.byteLength));

/** @throws RangeError if the bytes are not numbers */
function parseNumbers(bytes: Buffer): Float64Array {
  if (bytes.length % 8 !== 0) throw new RangeError(`${bytes.length} bytes are no whole number of numbers`);
  return new Float64Array(new Uint8Array(bytes).buffer);
}

/** Or the defaults. */
export function parseMerchantParameters(bytes: Buffer | null): Float64Array {
  if (bytes === null) return DEFAULT_MERCHANT_PARAMETERS;
  const numbers = parseNumbers(bytes);
  if (!numbers.every(Number.isFinite)) throw new RangeError("a merchant's own part of the model is unreadable");
  // Parameters of an earlier layout are learned again with their model.
  if (numbers.length !== MERCHANT_PARAMETER_COUNT) return DEFAULT_MERCHANT_PARAMETERS;
  return numbers;
}

export const DEFAULT_MERCHANT_PARAMETERS: Float64Array = copyMerchantParameters(newLearnedModel());

export const createPretrainedModel = (prior: PretrainedModel): HeldModel => ({
  learnedModel: fromPretrained(prior),
  version: 0,
});

/** Stored numbers that must be learned again. */
export class UnreadableModel extends Error {}

/**
 * Updates to the stored version. No decision may use the model meanwhile.
 *
 * @throws UnreadableModel if it is damaged, incomplete, or of another layout
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
    const partsByName = splitIntoParts(held.learnedModel);
    for (const { name, numbers } of parts) setPart(held.learnedModel, name, parseNumbers(numbers), partsByName);
  } catch (error) {
    throw new UnreadableModel((error as Error).message);
  }
  // A write between the two reads was read as a whole.
  held.version = parts.reduce((latest, { version }) => Math.max(latest, version), stored.version);
}
