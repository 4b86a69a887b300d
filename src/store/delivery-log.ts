import type { Database } from "./database.ts";
import { keepPartitions, type TimedTable } from "./partitions.ts";

/** A partition holds the attempts of the events that were made in its month. */
const LOG: TimedTable = { name: "delivery_attempts", momentColumn: "ended_at", span: "month" };

/** Make the months of the delivery log, and drop those whose events all were made before `keepFrom`: see `keepPartitions`. */
export const keepDeliveryLog = (db: Database, now: Date, keepFrom: Date) => keepPartitions(db, LOG, now, keepFrom);
