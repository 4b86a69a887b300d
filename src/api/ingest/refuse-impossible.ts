import { momentsAfter, type Packed, placesKnown, unpack } from "../../store/packed.ts";
import { badFields, type Problem } from "../errors.ts";
import type { RecordKind } from "./batch.ts";
import { LISTED_MAX } from "./problems.ts";

/** What dates are compared with. */
export interface SenderClock {
  /** Service time. */
  now: Date;
  /** How far the clocks of senders may be ahead of it. */
  skewMs: number;
}

/** Fields that say when something happened: it cannot lie ahead. */
const PAST_FIELDS = ["createdAt", "updatedAt"] as const;

/** Refuses records that were made or changed in the future, and invoices of which more is left than their total. */
export function refuseImpossible<Row>(kind: RecordKind<Row>, batch: Packed<Row>, { now, skewMs }: SenderClock) {
  const problems: Problem[] = PAST_FIELDS.flatMap((field) =>
    momentsAfter(batch, field, now.getTime() + skewMs).map(({ index, at }) => ({
      field: `${kind.name}[${index}].${field}`,
      says: futureWords(at, now),
    })),
  );
  if (kind.fields.has("amountDue")) {
    const places = placesKnown(batch as Packed<Owed>, "amountDue");
    for (const [nth, { amount, amountDue }] of unpack(batch as Packed<Owed>, ["amount", "amountDue"], places).entries())
      if (amountDue! > amount)
        problems.push({ field: `${kind.name}[${places[nth]}].amountDue`, says: "must be at most amount" });
  }
  if (problems.length > 0) throw badFields(problems.slice(0, LISTED_MAX), Math.max(0, problems.length - LISTED_MAX));
}

interface Owed {
  amount: number;
  amountDue?: number;
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
