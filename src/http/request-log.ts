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
    /** When its headers were read, by both clocks. */
    began: { monotonicMs: number; now: Date } | null;
    /** Records that were taken, or actions that are listed. */
    records: number | null;
    /** Of those that were taken: new, or newer than what was known. */
    stored: number | null;
    /** Of those that were taken: older than what is known, so they changed nothing. */
    older: number | null;
    /** What was said of a refusal or a fault: it names places and repeats no value. */
    said: string | null;
    /** The id that the caller gave to it. */
    callerRequestId: string | null;
    /** It is for a page of the console; and whose pages they are, once that is known. */
    page: { merchantId: string | null } | null;
    /** It was answered, or its caller went away, and that was noted. */
    isOver: true | null;
  }
}

export interface RequestLog {
  /** Takes a note. It costs the request nothing, and cannot fail. */
  add(request: LoggedRequest): void;
  /** Write what was noted; what can't be written stays for the next time. */
  flush(): Promise<void>;
}

const RETENTION_DAYS = 30;
/** A second of what one process answers at its best, in a statement of about 20 ms. */
const BATCH_REQUESTS_MAX = 2_000;
/** Requests without a good key: so many at once are somebody's first steps, and more than so many a second are nobody's. The others are counted. */
const UNAUTHENTICATED_BURST = 200;
const UNAUTHENTICATED_PER_SECOND = 0.2;
/** Some ten megabytes: minutes of an outage under usual load, and no more memory than that under any. */
const QUEUED_REQUESTS_MAX = 50_000;

/**
 * The log of requests: notes in memory, written in batches beside the requests. While the database is away they wait; what finds no
 * room any more is dropped and counted.
 *
 * @param owner  may make and drop partitions
 * @param onDropped  told how many were dropped
 * @param onStrange  told of each request of nobody's that is counted alone
 */
export function createRequestLog(
  db: Database,
  owner: Database,
  ports: Ports,
  log: Log,
  onDropped: (count: number) => void,
  onStrange: () => void,
): RequestLog {
  const strange = { room: UNAUTHENTICATED_BURST, at: ports.monotonicMs() };
  let waiting: LoggedRequest[] = [];
  let dropped = 0;
  let keptDay = Number.NaN;
  let flushing: Promise<void> | undefined;

  function drop(count: number) {
    dropped += count;
    onDropped(count);
  }

  /** Whether there is room for one more request of nobody's. */
  function isTold(): boolean {
    const now = ports.monotonicMs();
    strange.room = Math.min(
      UNAUTHENTICATED_BURST,
      strange.room + ((now - strange.at) * UNAUTHENTICATED_PER_SECOND) / 1_000,
    );
    strange.at = now;
    if (strange.room < 1) return false;
    strange.room--;
    return true;
  }

  async function write() {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH_REQUESTS_MAX);
      try {
        await logRequests(db, batch);
      } catch (error) {
        // What the database will never take must not keep back what comes after it.
        if (!isOutage(error)) {
          waiting = waiting.slice(batch.length);
          drop(batch.length);
        }
        throw error;
      }
      waiting = waiting.slice(batch.length);
    }
    if (dropped === 0) return;
    log.warn({ requests: dropped }, "request_log.dropped");
    dropped = 0;
  }

  /** Once a day, in service time: a day must have its partition before its requests come. */
  async function keep() {
    const now = ports.now();
    const day = Math.floor(now.getTime() / DAY_MS);
    if (day === keptDay) return;
    const changes = await maintainRequestLogPartitions(owner, now, new Date(now.getTime() - RETENTION_DAYS * DAY_MS));
    if (changes.made.length + changes.dropped.length > 0) log.info(changes, "request_log.kept");
    keptDay = day;
  }

  return {
    add(request) {
      if (request.merchantId === UNAUTHENTICATED_MERCHANT_ID && !isTold()) return onStrange();
      if (waiting.length < QUEUED_REQUESTS_MAX) waiting.push(request);
      else drop(1);
    },
    flush() {
      flushing ??= keep()
        .catch((error) => log.warn(errorFields(error), "request_log.keep_failed"))
        .then(write)
        .catch((error) => log.warn({ ...errorFields(error), waiting: waiting.length }, "request_log.write_failed"))
        .finally(() => {
          flushing = undefined;
        });
      return flushing;
    },
  };
}

/** A requestId is `req_` and a UUIDv7. */
const toUuid = (requestId: string) => requestId.slice(4);

/** Whether a request is noted. Of pages only what went wrong: whoever reads the log looks for calls of programs. */
export const isLogged = ({ page }: FastifyRequest, { statusCode }: FastifyReply) => page === null || statusCode >= 400;

/** What is noted of a request that was answered. */
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
  error: request.said,
});

/** What is noted of what never became a request. */
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
