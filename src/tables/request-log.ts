import { arrayParameters, type Column, columnValues, selectList } from "../postgres/batch-sql.ts";
import { type Database, prepared, type Tx } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";

/** Whose requests are those of callers that nobody knows. */
export const UNAUTHENTICATED_MERCHANT_ID = "00000000-0000-0000-0000-000000000000";

/** An inbound request that was answered. */
export interface LoggedRequest {
  /** `NOBODY` when no key was let in. */
  merchantId: string;
  /** UUIDv7: what follows `req_` in the requestId. */
  id: string;
  /** Service time of its arrival. */
  at: Date;
  /** The id that the caller gave to it. */
  callerRequestId: string | null;
  keyId: string | null;
  /** Null when what came was no request that could be read. */
  method: string | null;
  /** The pattern, never the path. */
  route: string;
  status: number;
  durationUs: number;
  /** Records that were taken, or actions that were listed. */
  records: number | null;
  /** Of records that were taken: new, or newer than what was known. */
  stored: number | null;
  /** Of records that were taken: older than what is known, and ignored. The rest was known already. */
  older: number | null;
  /** What was said of a refusal or a fault. */
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

/** Store a batch. It may be stored again: what is there already is left out. */
export async function logRequests(tx: Tx, requests: readonly LoggedRequest[]) {
  await tx.run(INSERT, columnValues(requests, COLUMNS));
}

const FIND = prepared(
  "find_request",
  `select ${selectList(COLUMNS)} from request_log
   where merchant_id in (select id from merchants union all select $2::uuid) and id = $1`,
);

/** The request with this id, whosever it is; null when it is unknown or older than the log. */
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
// Said outright, so that the indexes of them are used.
const LIST_REFUSED = listStatement("refused", "and status >= 400");
const LIST_OLDER = listStatement("older", "and older > 0");

/** Which of a merchant's requests are looked for. */
export interface RequestFilter {
  /** The status lies in this range, of which both ends are part; all: 0 to 999. */
  from?: number;
  to?: number;
  /** Only those with records that were ignored as older. */
  isOlder?: boolean;
  /** Only those that came before the request with this id. */
  before?: string | undefined;
  limit: number;
}

const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** A merchant's requests, newest first. */
export async function listRequests(
  tx: Tx,
  merchantId: string,
  { from = 0, to = 999, isOlder = false, before = LAST_ID, limit }: RequestFilter,
) {
  const statement = isOlder ? LIST_OLDER : from >= 400 ? LIST_REFUSED : LIST;
  return (await tx.run<LoggedRequest>(statement, [merchantId, before, from, to, limit])).rows;
}

const REQUEST_LOG_TABLE: PartitionedTable = { name: "request_log", timeColumn: "at", span: "day" };

/** Make the days of the request log, and drop those whose requests all came before `keepFrom`: see `maintainPartitions`. */
export const maintainRequestLogPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, REQUEST_LOG_TABLE, now, keepFrom);
