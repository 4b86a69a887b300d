import { DAY_MS } from "../domain/durations.ts";
import type { Experiment } from "../domain/experiment.ts";
import { type ExperimentForecast, reachedAt } from "./experiment-forecast.ts";
import type { InterimAnalysis } from "./statistics/interim-analysis.ts";
import { invoicesForWidth } from "./statistics/sample-size.ts";

/**
 * - `unplanned`: past amounts are missing, so the first results give the number.
 * - `expected`: `reachedAt` says when.
 * - `no_failures`: no invoice fails, so there is no date.
 * - `maturing`: the experiment has stopped with enough invoices, but some are too young to count.
 * - `not_reached`: the experiment has stopped with too few.
 */
export type ProgressState = "unplanned" | "expected" | "no_failures" | "reached" | "maturing" | "not_reached";

export interface ExperimentProgress {
  counted: number;
  /** Invoices to count; null: unknown. */
  needed: number | null;
  /** Whether `needed` assumes the widest spread, for want of past customers. */
  isUpperBound: boolean;
  state: ProgressState;
  /** When enough invoices are old enough; null unless `expected`. */
  reachedAt: Date | null;
}

/**
 * Measures how far an experiment is on its way to the planned number of invoices. Its own spread gives the number; before the first
 * results, the forecast does.
 *
 * @param look  the latest results; null: none yet
 */
export function measureProgress(
  experiment: Experiment,
  look: InterimAnalysis | null,
  forecast: ExperimentForecast,
): ExperimentProgress {
  const { margin, comparedFrom, stoppedAt } = experiment;
  const counted = look?.invoices.counted ?? 0;
  const entered = counted + (look?.invoices.waiting ?? 0);
  const primary = look?.comparisons[0];
  const variance = primary && primary.difference !== null ? primary.variance : null;
  const needed = variance === null ? forecast.needed : Math.ceil(invoicesForWidth(counted, variance, margin, margin));
  const isUpperBound = variance === null && forecast.history === null;
  const progress = (state: ProgressState, at: Date | null = null): ExperimentProgress => ({
    ...{ counted, needed, isUpperBound, state },
    reachedAt: at,
  });
  if (needed === null) return progress("unplanned");
  if (counted >= needed) return progress("reached");
  if (stoppedAt !== null) return progress(entered >= needed ? "maturing" : "not_reached");
  const days = look === null ? 0 : (look.at.getTime() - comparedFrom.getTime()) / DAY_MS;
  const at = reachedAt(needed, days >= 1 && entered > 0 ? entered / days : forecast.perDay, experiment);
  return at ? progress("expected", at) : progress("no_failures");
}
