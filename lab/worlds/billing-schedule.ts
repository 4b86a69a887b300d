import { DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import type { Bill } from "./world.ts";
import { addMonths } from "./world-calendar.ts";

export interface BillingPlan {
  number: number;
  createdAt: number;
  unit: Bill["billingPeriodUnit"];
  period: number;
  /** The merchant's; null: each on the start's date. */
  date: number | null;
  hour: number | null;
  /** In ms. One more invoice follows. */
  leavesAt: number;
}

const BILLING_RUN_MS = 1.3 * HOUR_MS;

/** Returns the invoices from `from` to `to` (ms), in order of time. `cycle` counts a plan's periods from its start. */
export function buildSchedule(seed: number, plans: readonly BillingPlan[], from: number, to: number) {
  const due: { at: number; number: number; cycle: number }[] = [];
  for (const plan of plans)
    for (let cycle = 0; ; cycle++) {
      const at = dueTime(seed, plan, cycle);
      if (at >= to) break;
      if (at < from || Math.floor(at / DAY_MS) < Math.floor(plan.createdAt / DAY_MS)) continue;
      due.push({ at, number: plan.number, cycle });
      if (at > plan.leavesAt) break;
    }
  return due.sort((a, b) => a.at - b.at || a.number - b.number);
}

function dueTime(seed: number, { number, createdAt, unit, period, date, hour }: BillingPlan, cycle: number): number {
  const count = cycle * period;
  const at =
    unit === "MONTH" || unit === "YEAR"
      ? addMonths(createdAt, unit === "YEAR" ? 12 * count : count, date ?? new Date(createdAt).getUTCDate())
      : createdAt + count * (unit === "WEEK" ? 7 : 1) * DAY_MS;
  if (hour === null) return at;
  return (
    Math.floor(at / DAY_MS) * DAY_MS +
    hour * HOUR_MS +
    Math.floor(BILLING_RUN_MS * keyedUniform(seed, number, cycle, 101))
  );
}
