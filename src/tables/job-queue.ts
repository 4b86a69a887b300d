import type { Job, JobKind } from "../domain/job.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS = `merchant_id as "merchantId", id, kind, asked_at as "askedAt",
  json_build_object('personId', person_id, 'name', actor, 'address', address) as actor, input, progress, result, failure,
  ended_at as "endedAt", due_at as "dueAt", holder`;

const INSERT = prepared(
  "insert_job",
  `insert into jobs (merchant_id, id, kind, asked_at, person_id, actor, address, input, progress, due_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   on conflict (merchant_id, kind) where due_at is not null do nothing`,
);

/** False if one of this kind is unfinished. */
export async function insertJob(
  tx: Tx,
  job: Pick<Job, "merchantId" | "id" | "kind" | "askedAt" | "actor"> & { input: object; progress: object },
  realNow: Date,
): Promise<boolean> {
  const { merchantId, id, kind, askedAt, actor, input, progress } = job;
  const { personId, name, address } = actor;
  const texts = [JSON.stringify(input), JSON.stringify(progress)];
  return (
    (await tx.run(INSERT, [merchantId, id, kind, askedAt, personId, name, address, ...texts, realNow])).rowCount === 1
  );
}

const CLAIM = prepared(
  "take_job",
  `update jobs set due_at = $3, holder = $4
   where (merchant_id, id) = (
     select merchant_id, id from jobs where kind = $1 and due_at <= $2 order by due_at limit 1 for update skip locked)
   returning ${COLUMNS}`,
);

/**
 * Longest waiting first. Times are real.
 *
 * @param holder  a new id
 */
export async function claimJob(tx: Tx, kind: JobKind, realNow: Date, until: Date, holder: string) {
  return (await tx.run<Job>(CLAIM, [kind, realNow, until, holder])).rows[0] ?? null;
}

const EXTEND_LEASE = prepared(
  "keep_job",
  `update jobs set due_at = $4, progress = coalesce($5::jsonb, progress)
   where merchant_id = $1 and id = $2 and holder = $3 and due_at is not null`,
);

/** @returns false if another process has claimed it: write nothing more */
export async function extendJobLease(tx: Tx, job: Job, until: Date, progress: object | null): Promise<boolean> {
  const values = [job.merchantId, job.id, job.holder, until, progress && JSON.stringify(progress)];
  return (await tx.run(EXTEND_LEASE, values)).rowCount === 1;
}

const END = prepared(
  "end_job",
  `update jobs set ended_at = $4, due_at = null, result = $5, failure = $6
   where merchant_id = $1 and id = $2 and holder = $3 and due_at is not null`,
);

/** False if another process has claimed it. */
export async function endJob(
  tx: Tx,
  job: Job,
  now: Date,
  end: { result: object } | { failure: string },
): Promise<boolean> {
  const [result, failure] = "result" in end ? [JSON.stringify(end.result), null] : [null, end.failure];
  return (await tx.run(END, [job.merchantId, job.id, job.holder, now, result, failure])).rowCount === 1;
}

const FIND = prepared("find_job", `select ${COLUMNS} from jobs where merchant_id = $1 and id = $2 and kind = $3`);

export async function findJob(tx: Tx, merchantId: string, id: string, kind: JobKind) {
  return (await tx.run<Job>(FIND, [merchantId, id, kind])).rows[0] ?? null;
}

const LIST = prepared(
  "list_jobs",
  `select ${COLUMNS.replace("result,", "null as result,")} from jobs where merchant_id = $1 and kind = $2 order by id desc limit $3`,
);

/** Newest first, without results. */
export async function listJobs(tx: Tx, merchantId: string, kind: JobKind, limit: number) {
  return (await tx.run<Job>(LIST, [merchantId, kind, limit])).rows;
}
