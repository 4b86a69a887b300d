import { DAY_MS } from "../domain/durations.ts";
import { type CellTotals, COUNT_MEASURE, type Experiment } from "../domain/experiment.ts";
import type { Tx } from "../postgres/database.ts";
import { countFailures, sumFailures } from "../tables/experiment-history.ts";
import { planInvoiceCount, WIDEST_HISTORY } from "./statistics/sample-size.ts";
import { recoveryRateOf } from "./statistics/tally.ts";

/** Covers monthly seasons, and still resembles the present. */
const HISTORY_DAYS = 180;
const RATE_DAYS = 28;

export interface ExperimentForecast {
  /** Mature past failures; null: too few customers. */
  history: { invoices: number; customers: number; recovered: number } | null;
  /** Invoices to count. Null: past amounts are needed and missing. */
  needed: number | null;
  /** Failed invoices a day, at present; 0: none. */
  perDay: number;
  /** When so many have failed and are old enough. */
  reachedAt: Date | null;
}

type ForecastPlan = Pick<Experiment, "share" | "margin" | "primary" | "maturityDays" | "comparedFrom">;

/** Forecasts size and end by the failures before `at`. */
export async function forecastExperiment(
  tx: Tx,
  merchantId: string,
  plan: ForecastPlan,
  at: Date,
): Promise<ExperimentForecast> {
  const before = (days: number) => new Date(at.getTime() - days * DAY_MS);
  const { maturityDays, primary } = plan;
  const rateFrom = before(RATE_DAYS);
  const [past, recent] = await Promise.all([
    sumFailures(tx, merchantId, primary, before(HISTORY_DAYS + maturityDays), before(maturityDays)),
    countFailures(tx, merchantId, rateFrom, at),
  ]);
  const since = recent.hasOlder || recent.firstAt === null ? rateFrom : recent.firstAt;
  const perDay = recent.n / Math.max(1, (at.getTime() - since.getTime()) / DAY_MS);
  const isKnown = recoveryRateOf(past.tally) !== null;
  const needed = countNeeded(isKnown ? past : null, plan);
  return {
    history: isKnown ? historyOf(past) : null,
    needed,
    perDay,
    reachedAt: needed === null ? null : reachedAt(needed, perDay, plan),
  };
}

const historyOf = ({ tally, invoices }: { tally: CellTotals; invoices: number }) => ({
  invoices,
  customers: tally.customers,
  recovered: tally.got / tally.due,
});

/** Without a history, a count has a widest possible spread, but amounts have none. */
function countNeeded(past: { tally: CellTotals; invoices: number } | null, plan: ForecastPlan): number | null {
  const basis = past ?? (plan.primary === COUNT_MEASURE ? WIDEST_HISTORY : null);
  return basis && planInvoiceCount(basis.tally, basis.invoices, plan);
}

/** Null if it would take longer than a date can hold. */
export function reachedAt(
  needed: number,
  perDay: number,
  { comparedFrom, maturityDays }: Pick<Experiment, "comparedFrom" | "maturityDays">,
): Date | null {
  if (perDay <= 0) return null;
  const at = new Date(comparedFrom.getTime() + (needed / perDay + maturityDays) * DAY_MS);
  return Number.isNaN(at.getTime()) ? null : at;
}
