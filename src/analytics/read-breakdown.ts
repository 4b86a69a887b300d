import type { ConfidenceInterval } from "../backtest/confidence-intervals.ts";
import { DAY_MS } from "../domain/durations.ts";
import { REPORTING_GRACE_DAYS } from "../experiments/experiments.ts";
import type { Tx } from "../postgres/database.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type CaseFilters, measureDesignEffect, type RecoverySum, sumRecovery } from "../tables/recovery-sums.ts";
import { type BreakdownDimension, valueLabel } from "./dimension-labels.ts";
import { monthBounds } from "./period.ts";
import { rateInterval } from "./recovery-breakdown.ts";

/** One value in one currency. Retries have no currency: those rows count executed retries. */
export interface RecoveryBreakdownRow {
  /** Empty if unknown. */
  value: string;
  label: string;
  currency?: string;
  /** Invoices, or executed retries. */
  count: number;
  recovered: number;
  /** In minor units, as text. */
  failedAmount?: string;
  recoveredAmount?: string;
  interval: ConfidenceInterval | null;
}

export interface RecoveryBreakdown {
  by: BreakdownDimension;
  from: Date;
  to: Date;
  /** Invoices younger than this are left out. */
  maturityDays: number;
  rows: RecoveryBreakdownRow[];
}

/** Reads recovery by one dimension, for invoices that first failed in a span and are old enough to count. */
export async function readRecoveryBreakdown(
  tx: Tx,
  merchantId: string,
  query: { by: BreakdownDimension; from: Date; to: Date; filters: CaseFilters; timeZone: string },
  now: Date,
): Promise<RecoveryBreakdown> {
  const { by, from, filters, timeZone } = query;
  const maturityDays = ((await findMerchant(tx, merchantId))?.windowDays ?? 0) + REPORTING_GRACE_DAYS;
  const mature = new Date(now.getTime() - maturityDays * DAY_MS);
  const to = new Date(Math.max(from.getTime(), Math.min(query.to.getTime(), mature.getTime())));
  const isCohort = by === "cohort";
  const bounds = isCohort ? monthBounds(from, to, timeZone) : [from, to];
  const [designEffect, sums] = await Promise.all([
    measureDesignEffect(tx, merchantId, from, to),
    from < to ? sumRecovery(tx, merchantId, isCohort ? "all" : by, bounds, filters) : [],
  ]);
  const monthOf = (span: number) =>
    new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit" }).format(bounds[span]!);
  const rows = sums.map((sum) => toApiRow(by, isCohort ? { ...sum, value: monthOf(sum.span) } : sum, designEffect));
  return { by, from, to, maturityDays, rows };
}

function toApiRow(by: BreakdownDimension, sum: RecoverySum, designEffect: number): RecoveryBreakdownRow {
  const { value, currency, n, recovered, amount, recoveredAmount } = sum;
  return {
    ...{ value, label: valueLabel(by, value) },
    ...(currency !== "" && { currency }),
    ...{ count: n, recovered },
    ...(currency !== "" && { failedAmount: amount, recoveredAmount }),
    interval: rateInterval(recovered, n, designEffect),
  };
}
