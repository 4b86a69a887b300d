// SQL that depends on how deliveries are stored.
import { type Database, prepared } from "../../src/postgres/database.ts";

const PAUSE = prepared(
  "bench_pause",
  "update merchants set webhook_paused = $1, webhook_paused_at = null, webhook_paused_by = null where webhook_url is not null",
);

/** The service notices within a second. */
export const setPaused = (db: Database, paused: boolean) => db.run(PAUSE, [paused]);

const PAUSE_AT = prepared(
  "bench_pause_at",
  `update merchants set webhook_paused = $1, webhook_paused_at = null, webhook_paused_by = null
   where webhook_url like '%:' || $2::int4 || '/%'`,
);

/** For endpoints that listen on this port. */
export const setPausedAt = (db: Database, port: number, paused: boolean) => db.run(PAUSE_AT, [paused, port]);

const DELETE_DELIVERIES = prepared("bench_forget", "delete from deliveries where merchant_id = any($1::uuid[])");

export const deleteDeliveries = (db: Database, merchantIds: readonly string[]) =>
  db.run(DELETE_DELIVERIES, [merchantIds]);

const WAITING_OF = prepared("bench_waiting_of", "select 1 from deliveries where merchant_id = any($1::uuid[]) limit 1");

export async function waitUntilMerchantsDelivered(db: Database, merchantIds: readonly string[]) {
  while ((await db.run(WAITING_OF, [merchantIds])).rowCount > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

const WAITING = prepared("bench_waiting", "select 1 from deliveries limit 1");

export async function waitUntilDelivered(db: Database, everyMs = 2) {
  while ((await db.run(WAITING)).rowCount > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
}

const STORED = prepared(
  "bench_stored",
  `select count(*)::int as attempts, count(*) filter (where ends = 'delivered')::int as delivered,
     coalesce(sum(pg_column_size(a)), 0)::float8 as bytes from delivery_attempts a`,
);

export interface DeliveryLogTotals {
  attempts: number;
  delivered: number;
  /** Of the log's rows. */
  bytes: number;
}

export const readDeliveryLogTotals = async (db: Database) => (await db.run<DeliveryLogTotals>(STORED)).rows[0]!;

const WAL = prepared(
  "bench_wal",
  `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes, (select wal_fpi from pg_stat_wal)::float8 as pages`,
);

export interface WalTotals {
  /** Since the server's statistics began. */
  bytes: number;
  /** Full page images. */
  pages: number;
}

export const readWalTotals = async (db: Database) => (await db.run<WalTotals>(WAL)).rows[0]!;

const VACUUM = ["merchants", "cases", "events", "deliveries", "delivery_attempts"].map((table) =>
  prepared(`bench_vacuum_${table}`, `vacuum analyze ${table}`),
);

/** Autovacuum would do this later, at an unpredictable time. */
export async function vacuumTables(db: Database) {
  for (const statement of VACUUM) await db.run(statement);
}

const CHECKPOINT = prepared("bench_checkpoint", "checkpoint");

/** Afterwards, each page's first change writes the whole page into the WAL. */
export const checkpoint = (db: Database) => db.run(CHECKPOINT);

const BODY = `{"id":"%s","type":"recovery_action","created":"2026-01-01T00:00:00.000Z","data":{"invoiceId":"in_%s","subscriptionId":"sub_%s","actionSuggestion":"ACTION_SUGGESTION_RETRY","idealRetryTime":"2026-01-01T00:49:00.000Z"}}`;
const FILL = prepared(
  "bench_fill",
  `with n as materialized (select uuidv7() as id, uuidv7() as case_id, 'in_' || left(replace(gen_random_uuid()::text, '-', ''), 16) as invoice_id, g from generate_series(1, $2::int) g),
   c as (
     insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at)
     select $1::uuid, case_id, invoice_id, 'cus_' || g, 900, 'EUR', $3, $3::timestamptz + interval '28 d', 8, $3 from n),
   l as (insert into due_cases (merchant_id, case_id, due_at) select $1::uuid, case_id, $3::timestamptz + interval '1 d' from n),
   e as (
     insert into events (merchant_id, id, case_id, invoice_id, type, body, created_at)
     select $1::uuid, id, case_id, invoice_id, 'recovery_action', format('${BODY}', id, invoice_id, g), $3 from n)
   insert into deliveries (merchant_id, event_id, attempts_max, due_at)
   select $1::uuid, id, 6, $3::timestamptz + g * interval '1 ms' from n`,
);

/** Several times as fast as `insertEvents`. */
export const insertDeliveries = (db: Database, merchantId: string, count: number, now: Date) =>
  db.run(FILL, [merchantId, count, now]);

const DEAD = prepared(
  "bench_dead",
  "select coalesce(sum(n_dead_tup), 0)::float8 as rows from pg_stat_user_tables where relname like 'deliver%'",
);

/** As far as the server has counted them. */
export const countDeadRows = async (db: Database) => (await db.run<{ rows: number }>(DEAD)).rows[0]!.rows;

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;
const HISTORY = prepared(
  "bench_history",
  `select e.id as "eventId", ${ms("e.created_at")} as "createdAt", a.number, ${ms("a.started_at")} as "startedAt",
     ${ms("a.ended_at")} as "endedAt", a.ends
   from events e left join delivery_attempts a on a.merchant_id = e.merchant_id and a.event_id = e.id
   where e.merchant_id = $1 order by e.id, a.number`,
);

/** Milliseconds of service time. An event without attempts has an entry without a number. */
export interface LoggedAttempt {
  eventId: string;
  createdAt: number;
  number: number | null;
  startedAt: number;
  endedAt: number;
  ends: "delivered" | "exhausted" | null;
}

/** By event and number. */
export const readAttemptHistory = async (db: Database, merchantId: string) =>
  (await db.run<LoggedAttempt>(HISTORY, [merchantId])).rows;

const DUE = prepared("bench_due", "select count(*)::int as waiting from deliveries");

/** Not final. */
export const countWaiting = async (db: Database) => (await db.run<{ waiting: number }>(DUE)).rows[0]!.waiting;
