import { DAY_MS } from "../domain/durations.ts";
import { REPORTING_GRACE_DAYS } from "../experiments/experiments.ts";
import type { Tx } from "../postgres/database.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type CaseFilters, measureDesignEffect, sumRecovery } from "../tables/recovery-sums.ts";
import type { BreakdownDimension } from "./dimension-labels.ts";
import { monthBounds, type Period } from "./period.ts";
import { type Breakdown, breakDownRecovery, toRow } from "./recovery-breakdown.ts";
import { isInView, type ReportingView } from "./reporting-money.ts";

/** When its cases first failed. */
export interface RecoverySpan {
  from: Date;
  to: Date;
  /** Days after which a case counts, so that all had the same time to be paid. */
  maturityDays: number;
  designEffect: number;
  /** Month starts in the reader's time zone, and when the last month ends. */
  months: Date[];
}

/**
 * A named period is moved back by the time in which a case may still be paid. A period by dates ends there at the latest.
 */
export async function loadSpan(
  tx: Tx,
  merchantId: string,
  period: Period,
  zone: string,
  now: Date,
): Promise<RecoverySpan> {
  const merchant = await findMerchant(tx, merchantId);
  const maturityDays = (merchant?.windowDays ?? 0) + REPORTING_GRACE_DAYS;
  const maturityMs = maturityDays * DAY_MS;
  const shift = period.name === null ? 0 : maturityMs;
  const from = new Date(period.from.getTime() - shift);
  const to = new Date(Math.max(from.getTime(), Math.min(period.to.getTime() - shift, now.getTime() - maturityMs)));
  const designEffect = await measureDesignEffect(tx, merchantId, from, to);
  return { from, to, maturityDays, designEffect, months: monthBounds(from, to, zone) };
}

/** Recovery in a span by one dimension. */
export async function loadBreakdown(
  tx: Tx,
  merchantId: string,
  by: BreakdownDimension,
  span: RecoverySpan,
  filters: CaseFilters,
  view: ReportingView,
): Promise<Breakdown> {
  if (by !== "cohort") return breakDownRecovery(tx, merchantId, by, span, filters, view, span.designEffect);
  const sums = (await sumRecovery(tx, merchantId, "all", span.months, filters)).filter((sum) => isInView(sum, view));
  const rows = span.months.slice(0, -1).flatMap((from, index) => {
    const found = sums.filter((sum) => sum.span === index);
    return found.length === 0 ? [] : [toRow(from.toISOString().slice(0, 10), found, view, span.designEffect)];
  });
  return { rows, all: toRow("", sums, view, span.designEffect) };
}
