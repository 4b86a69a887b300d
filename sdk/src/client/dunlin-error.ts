export type DunlinErrorKind =
  /** 400, 413, 415 and other 4xx: the request is wrong; repeating it does not help. */
  | "invalid_request"
  /** 401: the key is missing, mistyped, expired or revoked. */
  | "unauthorized"
  /** 403: the key lacks the permission. */
  | "forbidden"
  /** 429 on every attempt. */
  | "rate_limit_exceeded"
  /** 5xx on every attempt, or an answer that is not Dunlin's. */
  | "server_error"
  /** No connection, an untrusted certificate or a timeout. See `cause`. */
  | "no_answer";

interface DunlinErrorDetails {
  requestId?: string | undefined;
  details?: readonly unknown[] | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Dunlin refused a request, or all attempts failed. */
export class DunlinError extends Error {
  override readonly name = "DunlinError";
  readonly kind: DunlinErrorKind;
  /** The HTTP status; 0 without an answer. */
  readonly code: number;
  /** The request's id in Dunlin's log, if there was an answer. */
  readonly requestId: string | undefined;
  /** From Dunlin: empty for ingest; field violations or a reason for the list. */
  readonly details: readonly unknown[];
  /** How long Dunlin asked to wait, or 0. */
  readonly retryAfterMs: number;
  /**
   * For an ingest: the index in the iterable at which the failed batch started. `invoices[3]` in the message is record
   * `firstRecord` + 3.
   */
  firstRecord: number | undefined = undefined;

  constructor(code: number, message: string, { requestId, details, retryAfterMs, cause }: DunlinErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = errorKindOf(code);
    this.code = code;
    this.requestId = requestId;
    this.details = details ?? [];
    this.retryAfterMs = retryAfterMs ?? 0;
  }
}

function errorKindOf(code: number): DunlinErrorKind {
  if (code === 0) return "no_answer";
  if (code === 401) return "unauthorized";
  if (code === 403) return "forbidden";
  if (code === 429) return "rate_limit_exceeded";
  return code >= 400 && code < 500 ? "invalid_request" : "server_error";
}
