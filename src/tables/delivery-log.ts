import type { Database } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";

/** A partition holds the attempts of events created in its month. */
const ATTEMPTS_TABLE: PartitionedTable = { name: "delivery_attempts", timeColumn: "ended_at", span: "month" };

/** Creates the current partitions and drops those with only events created before `keepFrom`: see `maintainPartitions`. */
export const maintainDeliveryLogPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, ATTEMPTS_TABLE, now, keepFrom);
