import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger as Log } from "pino";
import { DAY_MS } from "../domain/durations.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import {
  type LoggedRequest,
  logRequests,
  maintainRequestLogPartitions,
  UNAUTHENTICATED_MERCHANT_ID,
} from "../tables/request-log.ts";

declare module "fastify" {
  interface FastifyRequest {
    startedAt: { monotonicMs: number; now: Date } | null;
    /** Received, or listed. */
    records: number | null;
    /** Records that were new or newer than the stored version. */
    stored: number | null;
    /** Records that were older than the stored version. */
    older: number | null;
    /** Names fields, and repeats no value. */
    errorMessage: string | null;
    callerRequestId: string | null;
    /** Set for console pages; `merchantId` is null until it is known. */
    page: { merchantId: string | null } | null;
    isFinished: true | null;
  }
}

export interface RequestLog {
  add(request: LoggedRequest): void;
  /** Writes queued rows. They stay queued while the database is unavailable. */
  flush(): Promise<void>;
}

const RETENTION_DAYS = 30;
/** About one second of a process's maximum throughput. */
const BATCH_REQUESTS_MAX = 2_000;
/** Enough to debug an integration. Further unauthenticated requests are only counted. */
const UNAUTHENTICATED_BURST = 200;
const UNAUTHENTICATED_PER_SECOND = 0.2;
/** About ten megabytes, or some minutes of an outage. */
const QUEUED_REQUESTS_MAX = 50_000;

/**
 * Creates the request log. Rows are queued in memory and written in batches; beyond the queue's limit they are dropped and counted.
 *
 * @param owner  may create and drop partitions
 * @param onDropped  receives the number of dropped rows
 * @param onUnauthenticatedSkipped  called for each unauthenticated request that is only counted
 */
export function createRequestLog(
  db: Database,
  owner: Database,
  ports: Ports,
  log: Log,
  onDropped: (count: number) => void,
  onUnauthenticatedSkipped: () => void,
): RequestLog {
  const unauthenticated = { tokens: UNAUTHENTICATED_BURST, at: ports.monotonicMs() };
  let queue: LoggedRequest[] = [];
  let dropped = 0;
  let maintainedDay = Number.NaN;
  let flushing: Promise<void> | undefined;

  function drop(count: number) {
    dropped += count;
    onDropped(count);
  }

  /** Whether one more unauthenticated request may be logged. */
  function takeUnauthenticatedToken(): boolean {
    const now = ports.monotonicMs();
    unauthenticated.tokens = Math.min(
      UNAUTHENTICATED_BURST,
      unauthenticated.tokens + ((now - unauthenticated.at) * UNAUTHENTICATED_PER_SECOND) / 1_000,
    );
    unauthenticated.at = now;
    if (unauthenticated.tokens < 1) return false;
    unauthenticated.tokens--;
    return true;
  }

  async function write() {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_REQUESTS_MAX);
      try {
        await logRequests(db, batch);
      } catch (error) {
        // A batch that the database will never accept must not block later ones.
        if (!isOutage(error)) {
          queue = queue.slice(batch.length);
          drop(batch.length);
        }
        throw error;
      }
      queue = queue.slice(batch.length);
    }
    if (dropped === 0) return;
    log.warn({ requests: dropped }, "request_log.dropped");
    dropped = 0;
  }

  /** Runs once per day of service time: a partition must exist before its first request. */
  async function maintainPartitions() {
    const now = ports.now();
    const day = Math.floor(now.getTime() / DAY_MS);
    if (day === maintainedDay) return;
    const changes = await maintainRequestLogPartitions(owner, now, new Date(now.getTime() - RETENTION_DAYS * DAY_MS));
    if (changes.made.length + changes.dropped.length > 0) log.info(changes, "request_log.kept");
    maintainedDay = day;
  }

  return {
    add(request) {
      if (request.merchantId === UNAUTHENTICATED_MERCHANT_ID && !takeUnauthenticatedToken())
        return onUnauthenticatedSkipped();
      if (queue.length < QUEUED_REQUESTS_MAX) queue.push(request);
      else drop(1);
    },
    flush() {
      flushing ??= maintainPartitions()
        .catch((error) => log.warn(errorFields(error), "request_log.keep_failed"))
        .then(write)
        .catch((error) => log.warn({ ...errorFields(error), waiting: queue.length }, "request_log.write_failed"))
        .finally(() => {
          flushing = undefined;
        });
      return flushing;
    },
  };
}

const toUuid = (requestId: string) => requestId.slice(4);

/** Whether a request is logged. Successful console requests are not, because the log is read to debug API calls. */
export const isLogged = ({ page }: FastifyRequest, { statusCode }: FastifyReply) => page === null || statusCode >= 400;

export const logEntryOf = (
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
  ms: number,
  at: Date,
): LoggedRequest => ({
  merchantId: request.caller?.merchant.id ?? request.page?.merchantId ?? UNAUTHENTICATED_MERCHANT_ID,
  id: toUuid(request.id),
  at,
  callerRequestId: request.callerRequestId,
  keyId: request.caller?.key.id ?? null,
  method: request.method,
  route,
  status: reply.statusCode,
  durationUs: Math.round(ms * 1000),
  records: request.records,
  stored: request.stored,
  older: request.older,
  error: request.errorMessage,
});

/** Returns the row for bytes that Node could not parse as a request. */
export const malformedLogEntryOf = (requestId: string, status: number, error: string, at: Date): LoggedRequest => ({
  merchantId: UNAUTHENTICATED_MERCHANT_ID,
  id: toUuid(requestId),
  at,
  callerRequestId: null,
  keyId: null,
  method: null,
  route: "unknown",
  status,
  durationUs: 0,
  records: null,
  stored: null,
  older: null,
  error,
});
