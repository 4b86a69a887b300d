import { DAY_MS } from "../../domain/durations.ts";
import type { CasePosterior } from "./case-posterior.ts";
import type { LearnedModel } from "./learned-model.ts";
import { CLASS_COUNT, classOf, type Reason } from "./model-layout.ts";

/** As long as this share of what was said comes, a model is a little wrong, as all are, and learns: of a pay day that a weekend moved, three in five may come. */
const ACCEPTED_RATE = 0.5;
/** A try counts by so much less with each one more: it is the latest two hundred or so that tell. */
const FADE_FACTOR = 0.995;
/** Tries of one hour share their luck: what falls short for less than this is no change of the world. */
const MIN_DURATION_MS = DAY_MS;
/** After so long without a try what came of the last ones says little of the next. */
const STALE_AFTER_MS = 30 * DAY_MS;
/** Of few tries, or of such as were nearly sure to fail, nothing can be told: so much must have been open, as a sum of p (1 − p). */
const MIN_UNCERTAINTY = 1;

/**
 * Of each class of reasons: approvals of late that were said and did not come, beyond what is true enough, and the variance of that; when it began to fall
 * short, and when the last attempt was. All zero while enough comes.
 */
const SHORTFALL_INDEX = 0;
const VARIANCE_INDEX = 1;
const SINCE_INDEX = 2;
const LATEST_INDEX = 3;
const SHORTFALL_WIDTH = 4;
export const newShortfalls = () => new Float64Array(SHORTFALL_WIDTH * CLASS_COUNT);

/**
 * Hold what came of a try beside what was said of it when it was decided.
 *
 * What is said later, knowing what came of others, would not do: many weights learn from each failure, so a model that is wrong believes in no
 * moment at all after some twenty of them, and is surprised no more. What went well before counts for nothing, as in a cumulative sum of Page (1954): else months of it would hide a change
 * for as long.
 *
 * @param said  the chance of approval, calibrated
 * @param at  when it was made
 * @param reason  why it failed; null: it was approved. A bank that was down says nothing of what was believed
 */
export function recordPrediction(
  { shortfalls }: LearnedModel,
  { firstReason }: Pick<CasePosterior, "firstReason">,
  said: number,
  at: number,
  reason: Reason | null,
) {
  if (reason === "ISSUER_DOWN") return;
  const of = SHORTFALL_WIDTH * classOf(firstReason);
  if (at - shortfalls[of + LATEST_INDEX]! > STALE_AFTER_MS) shortfalls.fill(0, of, of + SHORTFALL_WIDTH);
  const least = ACCEPTED_RATE * said;
  const short = shortfalls[of + SHORTFALL_INDEX]! * FADE_FACTOR + least - Number(reason === null);
  if (short <= 0) {
    shortfalls.fill(0, of, of + SHORTFALL_WIDTH);
    return;
  }
  if (shortfalls[of + SHORTFALL_INDEX] === 0) shortfalls[of + SINCE_INDEX] = at;
  shortfalls[of + SHORTFALL_INDEX] = short;
  shortfalls[of + VARIANCE_INDEX] = shortfalls[of + VARIANCE_INDEX]! * FADE_FACTOR * FADE_FACTOR + least * (1 - least);
  shortfalls[of + LATEST_INDEX] = at;
}

/**
 * By how many standard deviations fewer tries were approved of late than half of what was said, after declines of the class that the case began with; 0
 * while enough come, and where nothing can be told.
 */
export function shortfallDeviations(
  { shortfalls }: LearnedModel,
  { firstReason }: Pick<CasePosterior, "firstReason">,
  now: number,
): number {
  const of = SHORTFALL_WIDTH * classOf(firstReason);
  const at = (place: number) => shortfalls[of + place]!;
  if (
    at(VARIANCE_INDEX) < MIN_UNCERTAINTY ||
    at(LATEST_INDEX) - at(SINCE_INDEX) < MIN_DURATION_MS ||
    now - at(LATEST_INDEX) > STALE_AFTER_MS
  )
    return 0;
  return at(SHORTFALL_INDEX) / Math.sqrt(at(VARIANCE_INDEX));
}
