import { FAMILIES } from "./explanations.ts";
import { AT, nameWeight } from "./layout.ts";
import { type Learned, newLearned, shiftsAt } from "./learned.ts";

/**
 * In what a merchant differs from the others that share a model: how its first charges and its retries go beside theirs, what
 * its cases suffer from, how many of its tries are approved, and how far what is said of them comes true. These few numbers have places of their own in the model, and whoever works for a merchant puts
 * that merchant's there first.
 */
export const OWN_MERCHANT = "own";

/** "f…" and "r…" as `caseNames` makes them. */
const PLACES = ["f", "r"].map((stage) => nameWeight(`${stage}merchant:${OWN_MERCHANT}`));
/** Mean, variance, the shifts, and how often it was seen. */
const WIDTH = 3 + FAMILIES.length;
const TRIES_AT = WIDTH * PLACES.length;
const SHORTFALLS_AT = TRIES_AT + newLearned().tries.length;
export const OWN_SIZE = SHORTFALLS_AT + newLearned().shortfalls.length;

/** The numbers that are in a merchant's places now, copied. */
export function ownOf(learned: Learned): Float64Array {
  const named = PLACES.flatMap((index) => {
    const shifts = learned.shifts.subarray(shiftsAt(index)).subarray(0, FAMILIES.length);
    return [learned.mean[index]!, learned.variance[index]!, ...shifts, learned.seen[index - AT.name]!];
  });
  return Float64Array.from([...named, ...learned.tries, ...learned.shortfalls]);
}

/** Put a merchant's numbers in their places. */
export function putOwn(learned: Learned, own: Float64Array) {
  PLACES.forEach((index, n) => {
    const [mean, variance, ...rest] = own.subarray(n * WIDTH, (n + 1) * WIDTH);
    learned.mean[index] = mean!;
    learned.variance[index] = variance!;
    learned.shifts.set(rest.slice(0, FAMILIES.length), shiftsAt(index));
    learned.seen[index - AT.name] = rest.at(-1)!;
  });
  learned.tries.set(own.subarray(TRIES_AT, SHORTFALLS_AT));
  learned.shortfalls.set(own.subarray(SHORTFALLS_AT));
}
