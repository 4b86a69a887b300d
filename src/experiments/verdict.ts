import { DAY_MS, WEEK_MS } from "../domain/durations.ts";
import { type Arm, COUNT, type Experiment, type Tally } from "../domain/experiment.ts";
import { varianceFor } from "./always-valid.ts";
import { ALPHA, type Trouble } from "./checks.ts";
import type { Comparison } from "./look.ts";
import { marginPoints, pointsOf } from "./points.ts";
import { CUSTOMERS_MIN } from "./tally.ts";

/**
 * - `better`, `worse`: Dunlin recovers more, or less, than the merchant's own system.
 * - `alike`: the difference is smaller than the margin, whichever way it goes.
 * - `open`: cannot tell yet.
 * - `moving`: the difference is not the same as it was, so no single number is true.
 * - `void`: the arms can't be compared.
 */
export type Outcome = "better" | "worse" | "alike" | "open" | "moving" | "void";

/** Failed invoices of the comparison. */
export interface Invoices {
  /** Old enough to count. */
  counted: number;
  /** Too young. */
  waiting: number;
}

export interface Verdict {
  outcome: Outcome;
  /** What a person should know, in a few sentences. */
  words: string;
  /** Of an open one: how many weeks more, if it goes on as it did; null when that can't be said, or it will never be enough. */
  weeksMore: number | null;
}

const TROUBLE_WORDS: Record<Trouble, string> = {
  split: "the customers who are counted are not split as they were drawn, so some are missing from one arm",
  calibration: "the arms differed when both were left to the merchant's own system",
  halves_dunlin: "the two halves of Dunlin's arm, treated alike, differ",
  halves_merchant: "the two halves of the merchant's arm, treated alike, differ",
};

/** The verdict on the primary comparison. `arms`: what it compares. */
export function verdictOf(
  experiment: Experiment,
  comparison: Comparison,
  arms: Readonly<Record<Arm, Tally>>,
  troubles: readonly Trouble[],
  invoices: Invoices,
  at: Date,
): Verdict {
  const { lower, upper } = comparison;
  const { margin } = experiment;
  if (troubles.length > 0)
    return settled("void", `Do not use this result: ${troubles.map((trouble) => TROUBLE_WORDS[trouble]).join("; ")}.`);
  if (comparison.difference === null) return tooEarly(experiment, arms, invoices, at);
  const range = rangeWords(comparison, margin);
  if (lower > upper)
    return settled(
      "moving",
      "The difference has changed while the experiment ran, so no single number is true. Look at it by day.",
    );
  if (lower > 0) return settled("better", `Dunlin recovers more than the merchant's own system: ${range}.`);
  if (upper < 0) return settled("worse", `Dunlin recovers less than the merchant's own system: ${range}.`);
  if (lower > -margin && upper < margin)
    return settled("alike", `No difference that matters (${marginPoints(margin)} points or more): ${range}.`);
  const weeksMore = weeksUntilTold(experiment, comparison, invoices, at);
  const wait =
    weeksMore === null
      ? "No more invoices come in, and those that did will not be enough."
      : `About ${weeksMore} more ${weeksMore === 1 ? "week" : "weeks"} will tell.`;
  return { outcome: "open", words: `Cannot tell yet: ${range}. ${wait}`, weeksMore };
}

/** One that time does not change, or nobody knows when. */
const settled = (outcome: Outcome, words: string): Verdict => ({ outcome, words, weeksMore: null });

function tooEarly(
  { comparedFrom, maturityDays, primary, stoppedAt }: Experiment,
  { dunlin, merchant }: Readonly<Record<Arm, Tally>>,
  { waiting }: Invoices,
  at: Date,
): Verdict {
  if (stoppedAt !== null && stoppedAt <= comparedFrom)
    return settled("open", "It was stopped during its calibration, before anything could be compared.");
  // Others have invoices in other currencies alone.
  const who = primary === COUNT ? "customers" : `customers with invoices in ${primary}`;
  const customers = `${dunlin.customers} ${who} count in Dunlin's arm and ${merchant.customers} in the merchant's`;
  const few = Math.min(dunlin.customers, merchant.customers) < CUSTOMERS_MIN;
  const first = comparedFrom.getTime() + maturityDays * DAY_MS;
  const isOver = stoppedAt !== null && waiting === 0;
  if (at.getTime() < first && !isOver)
    return settled(
      "open",
      `Too early: an invoice counts ${maturityDays} days after it failed, so the first results come on ${new Date(first).toISOString().slice(0, 10)}.`,
    );
  const why = few ? `; a verdict takes ${CUSTOMERS_MIN} in each` : ", of whom a few large ones outweigh the rest";
  const when = isOver ? "Nothing can be told, and no more invoices come in" : "Too early";
  return settled("open", `${when}: ${customers}${why}.`);
}

/** `of 100 failed invoices 1.2 to 5.0 more`. */
function rangeWords({ measure, lower, upper }: Comparison, margin: number): string {
  const of = measure === COUNT ? "of 100 failed invoices" : `of 100 ${measure} that failed`;
  const [low, high] = [pointsOf(lower, margin), pointsOf(upper, margin)];
  if (lower >= 0) return `${of} ${low} to ${high} more`;
  if (upper <= 0) return `${of} ${high} to ${low} fewer`;
  return `${of} Dunlin recovers between ${low} fewer and ${high} more`;
}

/**
 * Weeks until there is a verdict, if the difference is what it seems to be by now: the interval must come off zero, or fit between
 * the margins, whichever is sooner. Invoices keep coming as they did, and each takes its time to count.
 */
function weeksUntilTold(
  { margin, comparedFrom, stoppedAt, maturityDays }: Experiment,
  comparison: Comparison,
  { counted, waiting }: Invoices,
  at: Date,
): number | null {
  const size = Math.abs(comparison.difference!);
  const width = Math.max(size, margin - size);
  const needed = counted * (comparison.variance! / varianceFor(width, margin, ALPHA.difference));
  const entered = counted + waiting;
  if (stoppedAt !== null && needed > entered) return null;
  const perMs = entered / ((stoppedAt ?? at).getTime() - comparedFrom.getTime());
  const toldAt = comparedFrom.getTime() + needed / perMs + maturityDays * DAY_MS;
  return Math.max(1, Math.ceil((toldAt - at.getTime()) / WEEK_MS));
}
