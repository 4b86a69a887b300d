import type { Belief } from "./belief.ts";
import { CLASS_COUNT, classOf, type Reason } from "./layout.ts";
import type { Learned } from "./learned.ts";

/** A try counts by so much less with each one more: it is the latest hundred or so that tell. */
const KEPT = 0.99;
/** Of few tries, or of such as were nearly sure to fail, nothing can be told: so much must have been open, as a sum of p (1 − p). */
const OPEN_MIN = 2;

/** Of each class of reasons two sums over the latest tries: approvals that were said and did not come, and the variance of that if what was said is true. */
export const newShortfalls = () => new Float64Array(2 * CLASS_COUNT);

/**
 * Hold what came of a try beside what was said of it when it was decided.
 *
 * What is said later, knowing what came of others, would not do: many weights learn from each failure, so a model that is wrong believes in no
 * moment at all after some twenty of them, and is surprised no more.
 *
 * @param said  the chance of approval, calibrated
 * @param reason  why it failed; null: it was approved. A bank that was down says nothing of what was believed
 */
export function noteSaid(
  { shortfalls }: Learned,
  { firstReason }: Pick<Belief, "firstReason">,
  said: number,
  reason: Reason | null,
) {
  if (reason === "ISSUER_DOWN") return;
  const at = 2 * classOf(firstReason);
  shortfalls[at] = shortfalls[at]! * KEPT + said - Number(reason === null);
  shortfalls[at + 1] = shortfalls[at + 1]! * KEPT * KEPT + said * (1 - said);
}

/** By how many standard deviations fewer tries were approved of late than was said, after declines of the class that the case began with. Below zero: more were. */
export function shortfallOf({ shortfalls }: Learned, { firstReason }: Pick<Belief, "firstReason">): number {
  const at = 2 * classOf(firstReason);
  const open = shortfalls[at + 1]!;
  return open < OPEN_MIN ? 0 : shortfalls[at]! / Math.sqrt(open);
}
