import { type Learned, newLearned } from "./learned.ts";
import { CYCLES } from "./pay-cycles.ts";
import { LAYOUT } from "./prior.ts";

/** Numbers in a part: few enough that one lesson leaves most parts as they are. */
const SIZE = 256;
const ARRAYS = [
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
const COUNTRY = "country/";

/** What a model is stored as: names, and the numbers themselves, no copies. A country has a part as soon as it is known. */
export function partsOf(learned: Learned): Map<string, Float64Array> {
  const parts = new Map<string, Float64Array>();
  for (const name of ARRAYS) {
    const all = learned[name];
    for (let from = 0; from < all.length; from += SIZE) parts.set(`${name}/${from}`, all.subarray(from, from + SIZE));
  }
  for (const [country, counts] of learned.countryCycles) parts.set(`${COUNTRY}${country}`, counts);
  return parts;
}

/**
 * Put stored numbers in place. Throws when there is no such part, or when its numbers are none.
 *
 * @param places  the model's parts, for who puts many
 */
export function putPart(learned: Learned, name: string, numbers: Float64Array, places = partsOf(learned)) {
  if (!numbers.every(Number.isFinite)) throw new RangeError(`part ${name} holds something that is no number`);
  if (name.startsWith(COUNTRY)) {
    if (numbers.length !== CYCLES) throw new RangeError(`part ${name} has ${numbers.length} numbers, not ${CYCLES}`);
    learned.countryCycles.set(name.slice(COUNTRY.length), numbers);
    return;
  }
  const place = places.get(name);
  if (place?.length !== numbers.length) throw new RangeError(`there is no part ${name} of ${numbers.length} numbers`);
  place.set(numbers);
}

/** How many parts a complete model has, countries aside. */
export const PARTS = partsOf(newLearned()).size;

/** The edition of a layout: a process leaves alone what a newer one has written. */
export const editionOf = (layout: string) => Number.parseInt(layout, 10);
export const EDITION = editionOf(LAYOUT);
