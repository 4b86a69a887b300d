import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";
import { MODEL_LAYOUT } from "./pretrained-model.ts";

/** Numbers in a part: few enough that one lesson leaves most parts as they are. */
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

/** What a model is stored as: names, and the numbers themselves, no copies. A country has a part as soon as it is known. */
export function splitIntoParts(learned: LearnedModel): Map<string, Float64Array> {
  const parts = new Map<string, Float64Array>();
  for (const name of SPLIT_ARRAYS) {
    const all = learned[name];
    for (let from = 0; from < all.length; from += PART_SIZE)
      parts.set(`${name}/${from}`, all.subarray(from, from + PART_SIZE));
  }
  for (const [country, counts] of learned.countryCycles) parts.set(`${COUNTRY_PREFIX}${country}`, counts);
  return parts;
}

/**
 * Put stored numbers in place. Throws when there is no such part, or when its numbers are none.
 *
 * @param places  the model's parts, for who puts many
 */
export function setPart(learned: LearnedModel, name: string, numbers: Float64Array, places = splitIntoParts(learned)) {
  if (!numbers.every(Number.isFinite)) throw new RangeError(`part ${name} holds something that is no number`);
  if (name.startsWith(COUNTRY_PREFIX)) {
    if (numbers.length !== CYCLE_COUNT)
      throw new RangeError(`part ${name} has ${numbers.length} numbers, not ${CYCLE_COUNT}`);
    learned.countryCycles.set(name.slice(COUNTRY_PREFIX.length), numbers);
    return;
  }
  const place = places.get(name);
  if (place?.length !== numbers.length) throw new RangeError(`there is no part ${name} of ${numbers.length} numbers`);
  place.set(numbers);
}

/** How many parts a complete model has, countries aside. */
export const PART_COUNT = splitIntoParts(newLearnedModel()).size;

/** The edition of a layout: a process leaves alone what a newer one has written. */
export const layoutEditionOf = (layout: string) => Number.parseInt(layout, 10);
export const LAYOUT_EDITION = layoutEditionOf(MODEL_LAYOUT);
