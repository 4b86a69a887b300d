import type { Logger as Log } from "pino";
import type { Job, JobKind } from "../domain/job.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import { claimJob, endJob, extendJobLease } from "../tables/job-queue.ts";

/** Another process takes over a job that is not extended within this time. */
const LEASE_MS = 30_000;

/** Shown to the person who started the job. */
export class JobFailure extends Error {}

export interface ClaimedJob {
  job: Job;
  db: Database;
  /** Stores the progress, in `tx` if given. False: another process has the job, so stop. */
  extendLease(progress: object | null, tx?: Tx): Promise<boolean>;
  /** Fires when this process shuts down. Another process continues the job. */
  signal: AbortSignal;
}

/** Writes `extraWrite` together with the result. null: another process continues the job. */
export type JobHandler = (
  claimed: ClaimedJob,
) => Promise<{ result: object; extraWrite?: (tx: Tx) => Promise<void> } | null>;

export interface JobRunner {
  everyone: Database;
  walled: TenantDatabase;
  ports: Ports;
  log: Log;
  kind: JobKind;
  work: JobHandler;
  signal: AbortSignal;
}

/** Returns whether there was one. */
export async function runNextJob({ everyone, walled, ports, log, kind, work, signal }: JobRunner): Promise<boolean> {
  const leaseEnd = () => new Date(ports.realNow().getTime() + LEASE_MS);
  const job = await claimJob(everyone, kind, ports.realNow(), leaseEnd(), ports.newId());
  if (!job) return false;
  const { merchantId, id } = job;
  const db = walled.of(merchantId);
  const extendLease: ClaimedJob["extendLease"] = (progress, tx = db) => extendJobLease(tx, job, leaseEnd(), progress);
  try {
    const outcome = await work({ job, db, extendLease, signal });
    if (!outcome) return true;
    await db.transaction(async (tx) => {
      if (await endJob(tx, job, ports.now(), { result: outcome.result })) await outcome.extraWrite?.(tx);
    });
    log.info({ merchantId, jobId: id, kind }, "job.done");
  } catch (error) {
    if (isOutage(error)) throw error; // another process continues when the lease ends
    const isExpected = error instanceof JobFailure;
    const failure = isExpected ? error.message : "The job failed unexpectedly. The error is in the log.";
    if (!isExpected) log.error({ ...errorFields(error), merchantId, jobId: id, kind }, "job.failed");
    await endJob(db, job, ports.now(), { failure });
  }
  return true;
}
