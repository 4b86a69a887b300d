import { DAY_MS } from "../domain/durations.ts";
import { readMaturityDays } from "../experiments/maturity.ts";
import type { Tx } from "../postgres/database.ts";
import { type CaseFilters, measureDesignEffect, type RecoverySum, sumRecovery } from "../tables/recovery-sums.ts";
import type { BreakdownDimension } from "./dimension-labels.ts";
import { monthBounds } from "./period.ts";

/** When the cases of a split first failed. */
export interface RecoverySpan {
  from: Date;
  to: Date;
  /** Days after which a case counts, so that all had the same time to be paid. */
  maturityDays: number;
  designEffect: number;
}

/**
 * Ends a period where the cases are too young to count.
 *
 * @param isMoved  keeps its length and moves it back by the time until a case counts, as for "the last 12 weeks"
 */
export async function matureSpan(
  tx: Tx,
  merchantId: string,
  period: { from: Date; to: Date },
  isMoved: boolean,
  now: Date,
): Promise<RecoverySpan> {
  const maturityDays = await readMaturityDays(tx, merchantId);
  const maturityMs = maturityDays * DAY_MS;
  const shift = isMoved ? maturityMs : 0;
  const from = new Date(period.from.getTime() - shift);
  const to = new Date(Math.max(from.getTime(), Math.min(period.to.getTime() - shift, now.getTime() - maturityMs)));
  return { from, to, maturityDays, designEffect: await measureDesignEffect(tx, merchantId, from, to) };
}

/**
 * Recovery by one dimension and by currency.
 *
 * @param zone  of the months that are the values of `cohort`, such as "2027-03"
 */
export async function sumSplit(
  tx: Tx,
  merchantId: string,
  by: BreakdownDimension,
  { from, to }: RecoverySpan,
  filters: CaseFilters,
  zone: string,
): Promise<RecoverySum[]> {
  if (from >= to) return [];
  if (by !== "cohort") return sumRecovery(tx, merchantId, by, [from, to], filters);
  const bounds = monthBounds(from, to, zone);
  const month = new Intl.DateTimeFormat("en-CA", { timeZone: zone, year: "numeric", month: "2-digit" });
  const sums = await sumRecovery(tx, merchantId, "all", bounds, filters);
  return sums.map((sum) => ({ ...sum, value: month.format(bounds[sum.span]!) }));
}
