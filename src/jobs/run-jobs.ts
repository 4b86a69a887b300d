import type { Logger as Log } from "pino";
import type { Job, JobKind } from "../domain/job.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import { claimJob, endJob, extendJobLease } from "../tables/job-queue.ts";

/** A holder that says nothing for so long is taken for dead. */
const LEASE_MS = 30_000;

/** Why a job can't be done, in words for who asked for it. */
export class JobFailure extends Error {}

/** A job in the hands of this process. */
export interface ClaimedJob {
  job: Job;
  /** The merchant's database. */
  db: Database;
  /** Keep it, and say how far it is, in a transaction with what was done if there is one; false: it is somebody else's now, so stop. */
  keep(progress: object | null, tx?: Tx): Promise<boolean>;
  /** Fires when this process is about to end: leave it to another one. */
  signal: AbortSignal;
}

/** What is done for a kind of job. Gives the result, and what is written with it; null when it was given up to another process. */
export type JobHandler = (held: ClaimedJob) => Promise<{ result: object; also?: (tx: Tx) => Promise<void> } | null>;

export interface JobRunner {
  /** For all merchants. */
  everyone: Database;
  walled: TenantDatabase;
  ports: Ports;
  log: Log;
  kind: JobKind;
  work: JobHandler;
  signal: AbortSignal;
}

/**
 * Take the next job of a kind and do it to its end.
 *
 * @returns whether there was one
 */
export async function runNextJob({ everyone, walled, ports, log, kind, work, signal }: JobRunner): Promise<boolean> {
  const until = () => new Date(ports.realNow().getTime() + LEASE_MS);
  const job = await claimJob(everyone, kind, ports.realNow(), until(), ports.newId());
  if (!job) return false;
  const { merchantId, id } = job;
  const db = walled.of(merchantId);
  const keep: ClaimedJob["keep"] = (progress, tx = db) => extendJobLease(tx, job, until(), progress);
  try {
    const done = await work({ job, db, keep, signal });
    if (!done) return true;
    await db.transaction(async (tx) => {
      if (await endJob(tx, job, ports.now(), { result: done.result })) await done.also?.(tx);
    });
    log.info({ merchantId, jobId: id, kind }, "job.done");
  } catch (error) {
    if (isOutage(error)) throw error; // its lease ends, and somebody goes on
    const isExpected = error instanceof JobFailure;
    const failure = isExpected ? error.message : "Something failed that should not have. It was logged.";
    if (!isExpected) log.error({ ...errorFields(error), merchantId, jobId: id, kind }, "job.failed");
    await endJob(db, job, ports.now(), { failure });
  }
  return true;
}
