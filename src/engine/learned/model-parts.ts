import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";
import { MODEL_LAYOUT } from "./pretrained-model.ts";

/** Small, so that an update leaves most parts unchanged. */
const PART_SIZE = 256;
const SPLIT_ARRAYS = [
  "mean",
  "variance",
  "cycles",
  "kinds",
  "bookings",
  "shifts",
  "seen",
  "trim",
  "firsts",
  "strain",
  "tries",
  "shortfalls",
] as const;
const COUNTRY_PREFIX = "country/";

/** Views, not copies. Each country seen is a part. */
export function splitIntoParts(model: LearnedModel): Map<string, Float64Array> {
  const parts = new Map<string, Float64Array>();
  for (const name of SPLIT_ARRAYS) {
    const all = model[name];
    for (let from = 0; from < all.length; from += PART_SIZE)
      parts.set(`${name}/${from}`, all.subarray(from, from + PART_SIZE));
  }
  for (const [country, counts] of model.countryCycles) parts.set(`${COUNTRY_PREFIX}${country}`, counts);
  return parts;
}

/**
 * @param parts  for callers that set many
 * @throws if there is no such part, or if its numbers are invalid
 */
export function setPart(model: LearnedModel, name: string, numbers: Float64Array, parts = splitIntoParts(model)) {
  if (!numbers.every(Number.isFinite)) throw new RangeError(`part ${name} holds something that is no number`);
  if (name.startsWith(COUNTRY_PREFIX)) {
    if (numbers.length !== CYCLE_COUNT)
      throw new RangeError(`part ${name} has ${numbers.length} numbers, not ${CYCLE_COUNT}`);
    model.countryCycles.set(name.slice(COUNTRY_PREFIX.length), numbers);
    return;
  }
  const part = parts.get(name);
  if (part?.length !== numbers.length) throw new RangeError(`there is no part ${name} of ${numbers.length} numbers`);
  part.set(numbers);
}

/** Without countries. */
export const PART_COUNT = splitIntoParts(newLearnedModel()).size;

/** A process does not touch a newer edition's model. */
export const layoutEditionOf = (layout: string) => Number.parseInt(layout, 10);
export const LAYOUT_EDITION = layoutEditionOf(MODEL_LAYOUT);
