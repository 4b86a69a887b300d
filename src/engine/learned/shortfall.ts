import { DAY_MS } from "../../domain/durations.ts";
import type { CasePosterior } from "./case-posterior.ts";
import type { LearnedModel } from "./learned-model.ts";
import { CLASS_COUNT, classOf, type Reason } from "./model-layout.ts";

/**
 * Share of its predictions that a model must reach; above it, errors are normal and correct themselves (a weekend that moves a
 * pay day).
 */
const ACCEPTED_RATE = 0.5;
/** About the last two hundred retries count. */
const FADE_FACTOR = 0.995;
/** Retries in the same hour share their luck. */
const MIN_DURATION_MS = DAY_MS;
/** Old outcomes say little about the next one. */
const STALE_AFTER_MS = 30 * DAY_MS;
/** Sum of p (1 − p): few retries, or ones nearly sure to fail, prove nothing. */
const MIN_UNCERTAINTY = 1;

/** By class of reasons: approvals missing from the accepted rate, their variance, two times. Zero while approvals keep up. */
const SHORTFALL_INDEX = 0;
const VARIANCE_INDEX = 1;
const SINCE_INDEX = 2;
const LATEST_INDEX = 3;
const SHORTFALL_WIDTH = 4;
export const newShortfalls = () => new Float64Array(SHORTFALL_WIDTH * CLASS_COUNT);

/**
 * `predictedChance` is from the decision: after some twenty failures a wrong model expects no approval, and nothing surprises it.
 * Earlier successes do not offset failures, as in Page's cumulative sum (1954), or they would hide a change.
 *
 * @param predictedChance  calibrated approval probability
 * @param at  the retry's time
 * @param reason  null: approved. A bank that was down says nothing
 */
export function recordPrediction(
  { shortfalls }: LearnedModel,
  { firstReason }: Pick<CasePosterior, "firstReason">,
  predictedChance: number,
  at: number,
  reason: Reason | null,
) {
  if (reason === "ISSUER_DOWN") return;
  const start = SHORTFALL_WIDTH * classOf(firstReason);
  if (at - shortfalls[start + LATEST_INDEX]! > STALE_AFTER_MS) shortfalls.fill(0, start, start + SHORTFALL_WIDTH);
  const expected = ACCEPTED_RATE * predictedChance;
  const shortfall = shortfalls[start + SHORTFALL_INDEX]! * FADE_FACTOR + expected - Number(reason === null);
  if (shortfall <= 0) {
    shortfalls.fill(0, start, start + SHORTFALL_WIDTH);
    return;
  }
  if (shortfalls[start + SHORTFALL_INDEX] === 0) shortfalls[start + SINCE_INDEX] = at;
  shortfalls[start + SHORTFALL_INDEX] = shortfall;
  shortfalls[start + VARIANCE_INDEX] =
    shortfalls[start + VARIANCE_INDEX]! * FADE_FACTOR * FADE_FACTOR + expected * (1 - expected);
  shortfalls[start + LATEST_INDEX] = at;
}

/**
 * How far recent approvals fall below half the predictions, by class of the first decline; 0 if they keep up or the data prove
 * nothing.
 */
export function shortfallDeviations(
  { shortfalls }: LearnedModel,
  { firstReason }: Pick<CasePosterior, "firstReason">,
  now: number,
): number {
  const start = SHORTFALL_WIDTH * classOf(firstReason);
  const at = (index: number) => shortfalls[start + index]!;
  if (
    at(VARIANCE_INDEX) < MIN_UNCERTAINTY ||
    at(LATEST_INDEX) - at(SINCE_INDEX) < MIN_DURATION_MS ||
    now - at(LATEST_INDEX) > STALE_AFTER_MS
  )
    return 0;
  return at(SHORTFALL_INDEX) / Math.sqrt(at(VARIANCE_INDEX));
}
