import { prepared, type Tx } from "../postgres/database.ts";

/** Lets one process send for a bucket's merchants. Writes under an older epoch have no effect. */
export interface BucketLease {
  bucket: number;
  epoch: number;
}

/** Visible to other deliverers, because they share a role. */
const DELIVERER = "dunlin deliverer";

const ANNOUNCE = prepared("announce_deliverer", `select set_config('application_name', '${DELIVERER}', false)`);

export async function announceDeliverer(connection: Tx) {
  await connection.run(ANNOUNCE);
}

const COUNT = prepared(
  "count_deliverers",
  `select count(*)::int as count
   from pg_stat_activity me join pg_stat_activity other on other.datname = me.datname
   where me.pid = pg_backend_pid() and other.application_name = '${DELIVERER}'
     and other.query_start > me.query_start - interval '25 s'`,
);

/** Includes this process. One without a statement for 25 s does not count. */
export async function countDeliverers(connection: Tx) {
  return (await connection.run<{ count: number }>(COUNT)).rows[0]?.count ?? 0;
}

const RENEW = prepared(
  "renew_bucket_leases",
  `update bucket_leases l set expires_at = $2, backend_pid = me.pid, backend_start = me.backend_start
   from pg_stat_activity me
   where l.owner = $1 and me.pid = pg_backend_pid()
   returning l.bucket, l.epoch`,
);

/** Binds all owned leases to this connection. Times are real. */
export async function renewLeases(connection: Tx, owner: string, expiresAt: Date) {
  return (await connection.run<BucketLease>(RENEW, [owner, expiresAt])).rows;
}

const ACQUIRE = prepared(
  "take_bucket_leases",
  `with free as (
     select l.bucket from bucket_leases l
     where l.owner is distinct from $1 and (l.owner is null or l.expires_at <= $2 or not exists (
       select 1 from pg_stat_activity a where a.pid = l.backend_pid and a.backend_start = l.backend_start))
     order by l.bucket limit $4
     for update skip locked
   )
   update bucket_leases l
   set owner = $1, epoch = l.epoch + 1, expires_at = $3, backend_pid = me.pid, backend_start = me.backend_start
   from free, pg_stat_activity me
   where l.bucket = free.bucket and me.pid = pg_backend_pid()
   returning l.bucket, l.epoch`,
);

/** Buckets without an owner, with an expired lease, or whose owner's connection is gone. Times are real. */
export async function acquireLeases(connection: Tx, owner: string, now: Date, expiresAt: Date, limit: number) {
  return (await connection.run<BucketLease>(ACQUIRE, [owner, now, expiresAt, limit])).rows;
}

const RELEASE = prepared(
  "release_bucket_leases",
  `update bucket_leases set owner = null, expires_at = null, backend_pid = null, backend_start = null
   where owner = $1 and bucket = any($2::int2[])`,
);

export async function releaseLeases(connection: Tx, owner: string, buckets: readonly number[]) {
  await connection.run(RELEASE, [owner, buckets]);
}
