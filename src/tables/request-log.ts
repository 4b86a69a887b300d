import { arrayParameters, type Column, columnValues, selectList } from "../postgres/batch-sql.ts";
import { type Database, prepared, type Tx } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";

/** Callers without a valid key. */
export const UNAUTHENTICATED_MERCHANT_ID = "00000000-0000-0000-0000-000000000000";

export interface LoggedRequest {
  /** Or `UNAUTHENTICATED_MERCHANT_ID`. */
  merchantId: string;
  /** UUIDv7; the request id is `req_` and this. */
  id: string;
  /** Arrival in service time. */
  at: Date;
  /** Sent by the caller. */
  callerRequestId: string | null;
  keyId: string | null;
  /** Null if the request could not be parsed. */
  method: string | null;
  /** The pattern, never the path. */
  route: string;
  status: number;
  durationUs: number;
  /** Accepted records, or listed actions. */
  records: number | null;
  /** Or newer versions. */
  stored: number | null;
  /** A newer version is stored. */
  older: number | null;
  error: string | null;
}

const COLUMNS: readonly Column<LoggedRequest>[] = [
  ["merchant_id", "uuid", "merchantId"],
  ["id", "uuid", "id"],
  ["at", "timestamptz", "at"],
  ["caller_request_id", "text", "callerRequestId"],
  ["key_id", "uuid", "keyId"],
  ["method", "text", "method"],
  ["route", "text", "route"],
  ["status", "int2", "status"],
  ["duration_us", "int4", "durationUs"],
  ["records", "int4", "records"],
  ["stored", "int4", "stored"],
  ["older", "int4", "older"],
  ["error", "text", "error"],
];

const INSERT = prepared(
  "log_requests",
  `insert into request_log (${COLUMNS.map(([name]) => name).join(", ")})
   select * from unnest(${arrayParameters(COLUMNS, 1)}) on conflict do nothing`,
);

/** Idempotent. */
export async function logRequests(tx: Tx, requests: readonly LoggedRequest[]) {
  await tx.run(INSERT, columnValues(requests, COLUMNS));
}

const FIND = prepared(
  "find_request",
  `select ${selectList(COLUMNS)} from request_log
   where merchant_id in (select id from merchants union all select $2::uuid) and id = $1`,
);

/** Of any merchant. */
export async function findRequest(tx: Tx, id: string) {
  return (await tx.run<LoggedRequest>(FIND, [id, UNAUTHENTICATED_MERCHANT_ID])).rows[0] ?? null;
}

const listStatement = (name: string, condition: string) =>
  prepared(
    `list_requests_${name}`,
    `select ${selectList(COLUMNS)} from request_log
     where merchant_id = $1 and id < $2 and status between $3 and $4 ${condition} order by id desc limit $5`,
  );
const LIST = listStatement("all", "");
// These conditions match partial indexes.
const LIST_REFUSED = listStatement("refused", "and status >= 400");
const LIST_OLDER = listStatement("older", "and older > 0");

export interface RequestFilter {
  /** Statuses, inclusive. */
  from?: number;
  to?: number;
  /** With ignored older records. */
  isOlder?: boolean;
  before?: string | undefined;
  limit: number;
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Newest first. */
export async function listRequests(
  tx: Tx,
  merchantId: string,
  { from = 0, to = 999, isOlder = false, before = LAST_ID, limit }: RequestFilter,
) {
  const statement = isOlder ? LIST_OLDER : from >= 400 ? LIST_REFUSED : LIST;
  return (await tx.run<LoggedRequest>(statement, [merchantId, before, from, to, limit])).rows;
}

const REQUEST_LOG_TABLE: PartitionedTable = { name: "request_log", timeColumn: "at", span: "day" };

/** Drops partitions with only requests before `keepFrom`. */
export const maintainRequestLogPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, REQUEST_LOG_TABLE, now, keepFrom);
