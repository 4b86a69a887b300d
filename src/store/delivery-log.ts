import { type Database, prepared, type Tx } from "./database.ts";
import { dropPartition, makePartition } from "./partitions.ts";

/** A month of the delivery log: a partition of `delivery_attempts` with the attempts of the events that were made in it. */
interface Month {
  /** `delivery_attempts_2026_11` */
  name: string;
  startMs: number;
  endMs: number;
}

const NAME = /^delivery_attempts_(\d{4})_(\d\d)$/;

const monthOf = (year: number, month: number): Month => {
  const start = new Date(Date.UTC(year, month));
  return {
    name: `delivery_attempts_${start.toISOString().slice(0, 7).replace("-", "_")}`,
    startMs: start.getTime(),
    endMs: Date.UTC(year, month + 1),
  };
};

/** The lowest UUIDv7 of a moment. */
function firstId(ms: number): string {
  const hex = ms.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

const LIST = prepared(
  "delivery_log_partitions",
  `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'delivery_attempts'::regclass order by 1`,
);

/** The months that have a partition, oldest first. */
async function months(tx: Tx): Promise<Month[]> {
  return (await tx.run<{ name: string }>(LIST)).rows.flatMap(({ name }) => {
    const [, year, month] = NAME.exec(name) ?? [];
    return year === undefined ? [] : [monthOf(Number(year), Number(month) - 1)];
  });
}

/**
 * Make the partitions of this month and the next, and drop those whose events all were made before `keepFrom`. Call it at start
 * and now and then; any number of processes may. A statement waits for the table no longer than a second: then the next call does it.
 *
 * @param now  service time
 * @returns names of what was made and of what was dropped
 */
export async function keepDeliveryLog(db: Database, now: Date, keepFrom: Date) {
  const known = await months(db);
  const names = new Set(known.map(({ name }) => name));
  const year = now.getUTCFullYear();
  const made: string[] = [];
  for (const month of [monthOf(year, now.getUTCMonth()), monthOf(year, now.getUTCMonth() + 1)])
    if (
      !names.has(month.name) &&
      (await makePartition(db, "delivery_attempts", month.name, firstId(month.startMs), firstId(month.endMs)))
    )
      made.push(month.name);
  const dropped: string[] = [];
  for (const { name, endMs } of known) {
    if (endMs <= keepFrom.getTime() && (await dropPartition(db, name))) dropped.push(name);
  }
  return { made, dropped };
}
