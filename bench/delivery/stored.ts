// What the benchmarks of delivery ask of the tables. All SQL of theirs that knows how deliveries are stored is here.
import { type Database, prepared } from "../../src/store/database.ts";

const PAUSE = prepared("bench_pause", "update merchants set webhook_paused = $1 where webhook_url is not null");

/** Let the deliveries of all merchants wait, or go on. The service notices within a second. */
export const setPaused = (db: Database, paused: boolean) => db.run(PAUSE, [paused]);

const WAITING = prepared("bench_waiting", "select 1 from deliveries limit 1");

/** Resolves when nothing waits any more. */
export async function nothingWaits(db: Database, everyMs = 2) {
  while ((await db.run(WAITING)).rowCount > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
}

const STORED = prepared(
  "bench_stored",
  `select count(*)::int as attempts, count(*) filter (where ends = 'delivered')::int as delivered,
     coalesce(sum(pg_column_size(a)), 0)::float8 as bytes from delivery_attempts a`,
);

export interface Stored {
  attempts: number;
  delivered: number;
  /** Of the log's rows. */
  bytes: number;
}

/** The whole delivery log. */
export const storedLog = async (db: Database) => (await db.run<Stored>(STORED)).rows[0]!;

const WAL = prepared(
  "bench_wal",
  `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes, (select wal_fpi from pg_stat_wal)::float8 as pages`,
);

export interface Wal {
  /** Written since the beginning of time. */
  bytes: number;
  /** Full images of pages among them. */
  pages: number;
}

export const wal = async (db: Database) => (await db.run<Wal>(WAL)).rows[0]!;

const TIDY = [
  ...["merchants", "cases", "events", "deliveries", "delivery_attempts"].map((table) => `vacuum analyze ${table}`),
  "checkpoint",
].map((sql, index) => prepared(`bench_tidy_${index}`, sql));

/** What autovacuum and the checkpointer would do a little later, at a time of their own. */
export async function tidy(db: Database) {
  for (const statement of TIDY) await db.run(statement);
}

const EMPTY = ["events", "deliveries", "delivery_attempts", "cases"].map((table) =>
  prepared(`bench_empty_${table}`, `truncate ${table} cascade`),
);

/** Forget all cases, events and their log. */
export async function forget(db: Database) {
  for (const statement of EMPTY) await db.run(statement);
}

const WAL_SIZE = [
  prepared("bench_wal_size", "alter system set max_wal_size = '8GB'"),
  prepared("bench_reload", "select pg_reload_conf()"),
];

/** No checkpoint for reasons of size within a round: it would fall on one contender and spare the next. */
export async function roomForWal(db: Database) {
  for (const statement of WAL_SIZE) await db.run(statement);
}
