import type { Database } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";

/** A partition holds the attempts of the events that were made in its month. */
const ATTEMPTS_TABLE: PartitionedTable = { name: "delivery_attempts", timeColumn: "ended_at", span: "month" };

/** Make the months of the delivery log, and drop those whose events all were made before `keepFrom`: see `maintainPartitions`. */
export const maintainDeliveryLogPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, ATTEMPTS_TABLE, now, keepFrom);
