import { type ConfidenceInterval, shareInterval } from "../backtest/confidence-intervals.ts";
import type { RecoverySum } from "../tables/recovery-sums.ts";
import { isInView, type ReportingView, sumInView } from "./reporting-money.ts";

/** Cases or retries with one value, such as one decline reason. */
export interface BreakdownRow {
  /** Empty if unknown. */
  value: string;
  n: number;
  recovered: number;
  /** In the view's currency and minor units; 0 for retries. */
  failed: bigint;
  recoveredAmount: bigint;
  /** 95%, widened because a customer's invoices resemble each other; null without cases. */
  interval: ConfidenceInterval | null;
}

export interface Breakdown {
  rows: BreakdownRow[];
  all: BreakdownRow;
}

/** Adds up a split's currencies in a view. @param designEffect  from `measureDesignEffect` */
export function toBreakdown(split: readonly RecoverySum[], view: ReportingView, designEffect: number): Breakdown {
  const sums = split.filter((sum) => isInView(sum, view));
  const rows = [...Map.groupBy(sums, ({ value }) => value)].map(([value, parts]) =>
    toRow(value, parts, view, designEffect),
  );
  return { rows, all: toRow("", sums, view, designEffect) };
}

export function toRow(
  value: string,
  sums: readonly RecoverySum[],
  view: ReportingView,
  designEffect: number,
): BreakdownRow {
  const n = sums.reduce((total, sum) => total + sum.n, 0);
  const recovered = sums.reduce((total, sum) => total + sum.recovered, 0);
  const money = sums.filter(({ currency }) => currency !== "");
  return {
    ...{ value, n, recovered },
    failed: sumInView(money, ({ amount }) => amount, view),
    recoveredAmount: sumInView(money, ({ recoveredAmount }) => recoveredAmount, view),
    interval: rateInterval(recovered, n, designEffect),
  };
}

export function rateInterval(part: number, whole: number, designEffect: number): ConfidenceInterval | null {
  if (whole === 0) return null;
  const share = part / whole;
  const effective = whole / designEffect;
  return shareInterval({ share, effective, error: Math.sqrt((share * (1 - share)) / effective) });
}

/** Row orders. */
export const BREAKDOWN_SORTS = ["failed", "recovered", "left", "rate", "n", "value"] as const;
export type BreakdownSort = (typeof BREAKDOWN_SORTS)[number];

const SORT_KEYS: Readonly<Record<Exclude<BreakdownSort, "value">, (row: BreakdownRow) => number | bigint>> = {
  failed: ({ failed }) => failed,
  recovered: ({ recoveredAmount }) => recoveredAmount,
  left: ({ failed, recoveredAmount }) => failed - recoveredAmount,
  rate: ({ n, recovered }) => (n === 0 ? -1 : recovered / n),
  n: ({ n }) => n,
};

const numeric = new Intl.Collator("en", { numeric: true });
/** By number, for values that hold one. */
export const compareValues = (one: { value: string }, other: { value: string }): number =>
  numeric.compare(one.value, other.value);

export function sortBreakdown(
  rows: readonly BreakdownRow[],
  sort: BreakdownSort,
  isDescending: boolean,
): BreakdownRow[] {
  const compare = (one: BreakdownRow, other: BreakdownRow): number => {
    if (sort === "value") return compareValues(one, other);
    const [a, b] = [SORT_KEYS[sort](one), SORT_KEYS[sort](other)];
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const byValue = (one: BreakdownRow, other: BreakdownRow) => (one.value < other.value ? -1 : 1);
  return rows.toSorted((one, other) => (isDescending ? -1 : 1) * compare(one, other) || byValue(one, other));
}
