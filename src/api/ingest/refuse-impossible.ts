import { firstAfter, type Packed, unpack } from "../../store/packed.ts";
import { badField } from "../errors.ts";
import type { RecordKind } from "./batch.ts";

/** Fields that say when something happened: it cannot lie ahead. */
const PAST_FIELDS = ["createdAt", "updatedAt"] as const;

/**
 * Refuses what no billing system can know: a record that was made or changed in the future, which clocks that differ may seem to be by a little, and an invoice
 * of which more is left than its total.
 *
 * @param skewMs  how far the sender's clock may be ahead of service time
 */
export function refuseImpossible<Row>(kind: RecordKind<Row>, batch: Packed<Row>, now: Date, skewMs: number) {
  for (const field of PAST_FIELDS) {
    const found = firstAfter(batch, field, now.getTime() + skewMs);
    if (found) throw badField(`${kind.name}[${found.index}].${field}`, futureWords(found.at, now));
  }
  if (!kind.fields.has("amountDue")) return;
  const invoices = unpack(batch as Packed<{ amount: number; amountDue?: number }>, ["amount", "amountDue"]);
  const index = invoices.findIndex(({ amount, amountDue }) => amountDue !== undefined && amountDue > amount);
  if (index >= 0) throw badField(`${kind.name}[${index}].amountDue`, DUE_SAYS);
}

const DUE_SAYS = "must be at most amount";

/** What is wrong so with one record; null: nothing. */
export function impossibleOf(
  record: Readonly<Record<string, unknown>>,
  now: Date,
  skewMs: number,
): { field: string; says: string } | null {
  for (const field of PAST_FIELDS) {
    const at = record[field];
    if (at instanceof Date && at.getTime() > now.getTime() + skewMs) return { field, says: futureWords(at, now) };
  }
  const { amount, amountDue } = record;
  return typeof amountDue === "number" && typeof amount === "number" && amountDue > amount
    ? { field: "amountDue", says: DUE_SAYS }
    : null;
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** "is 58 minutes in the future; send UTC" */
function futureWords(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime();
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= 2 * each) ?? UNITS[2];
  const count = Math.round(ms / unitMs);
  return `is ${count} ${unit}${count === 1 ? "" : "s"} in the future; send UTC`;
}
