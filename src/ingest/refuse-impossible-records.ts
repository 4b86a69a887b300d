import type { MicrosecondDate } from "../domain/timestamp.ts";
import { badFieldsError, type FieldProblem } from "../http/errors.ts";
import { LISTED_PROBLEMS_MAX } from "./batch-problems.ts";

export interface ReceptionClock {
  now: Date;
  /** How far a sender's clock may be ahead. */
  skewMs: number;
}

/** Must not be in the future. */
const PAST_FIELDS = ["createdAt", "updatedAt"] as const;

/** Records from the future, and invoices whose amount due exceeds the amount. */
export function refuseImpossibleRecords(
  kindName: string,
  records: readonly unknown[],
  { now, skewMs }: ReceptionClock,
) {
  const batch = records as readonly Comparable[];
  const problems: FieldProblem[] = [];
  const limitMs = now.getTime() + skewMs;
  for (const field of PAST_FIELDS)
    for (const [index, { [field]: at }] of batch.entries())
      if (at && at.getTime() + (at.microseconds ?? 0) / 1000 > limitMs)
        problems.push({ field: `${kindName}[${index}].${field}`, rule: describeFuture(at, now) });
  for (const [index, { amount, amountDue }] of batch.entries())
    if (amountDue !== undefined && amountDue > amount!)
      problems.push({ field: `${kindName}[${index}].amountDue`, rule: "must be at most amount" });
  if (problems.length > 0)
    throw badFieldsError(problems.slice(0, LISTED_PROBLEMS_MAX), Math.max(0, problems.length - LISTED_PROBLEMS_MAX));
}

interface Comparable {
  createdAt: MicrosecondDate;
  updatedAt?: MicrosecondDate | undefined;
  amount?: number;
  amountDue?: number | undefined;
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** "is 58 minutes in the future; send UTC" */
function describeFuture(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= 2 * each) ?? UNITS[2];
  const count = Math.round(ms / unitMs);
  return `is ${count} ${unit}${count === 1 ? "" : "s"} in the future; send UTC`;
}
