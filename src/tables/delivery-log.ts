import type { Database } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";

/** By month of the event's creation. */
const ATTEMPTS_TABLE: PartitionedTable = { name: "delivery_attempts", timeColumn: "ended_at", span: "month" };

/** Drops partitions with only events created before `keepFrom`. */
export const maintainDeliveryLogPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, ATTEMPTS_TABLE, now, keepFrom);
