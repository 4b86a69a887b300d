import type { ConfidenceInterval } from "../backtest/confidence-intervals.ts";
import type { Tx } from "../postgres/database.ts";
import type { CaseFilters, RecoverySum } from "../tables/recovery-sums.ts";
import { type BreakdownDimension, valueLabel } from "./dimension-labels.ts";
import { compareValues, rateInterval } from "./recovery-breakdown.ts";
import { matureSpan, sumSplit } from "./split-sums.ts";

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

/** Their values have an order of their own; the others are sorted as text. */
const IN_ORDER: ReadonlySet<BreakdownDimension> = new Set(["amount", "attempt", "hour", "cohort"]);

/** Reads recovery by one dimension, for invoices that first failed in a span and are old enough to count. */
export async function readRecoveryBreakdown(
  tx: Tx,
  merchantId: string,
  query: { by: BreakdownDimension; from: Date; to: Date; filters: CaseFilters; timeZone: string },
  now: Date,
): Promise<RecoveryBreakdown> {
  const { by, filters, timeZone } = query;
  const span = await matureSpan(tx, merchantId, query, false, now);
  const sums = await sumSplit(tx, merchantId, by, span, filters, timeZone);
  const rows = IN_ORDER.has(by) ? sums.toSorted(compareValues) : sums;
  const { from, to, maturityDays, designEffect } = span;
  return { by, from, to, maturityDays, rows: rows.map((sum) => toApiRow(by, sum, designEffect)) };
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
