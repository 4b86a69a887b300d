/** What kind of failure it is, to be switched on. */
export type DunlinErrorKind =
  /** 400, 413, 415 and the other 4xx: the request is wrong, and stays wrong. */
  | "invalid_request"
  /** 401: the key is missing, mistyped, expired or revoked. */
  | "unauthorized"
  /** 403: the key lacks the permission. */
  | "forbidden"
  /** 429, still so after all tries. */
  | "rate_limit_exceeded"
  /** 5xx, still so after all tries, or an answer that is not Dunlin's. */
  | "server_error"
  /** No answer: no connection, a certificate that is not trusted, a time-out. `cause` says why. */
  | "no_answer";

interface DunlinErrorDetails {
  requestId?: string | undefined;
  details?: readonly unknown[] | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** A request that Dunlin refused, or that got no good answer although it was repeated. */
export class DunlinError extends Error {
  override readonly name = "DunlinError";
  readonly kind: DunlinErrorKind;
  /** The HTTP status; 0 when there was no answer at all. */
  readonly code: number;
  /** Names the request in Dunlin's logs; absent when there was no answer. */
  readonly requestId: string | undefined;
  /** As Dunlin sent it: empty for ingest; for the list field violations, or the reason for programs. */
  readonly details: readonly unknown[];
  /** How long the answer asked to wait; 0 when it did not say. */
  readonly retryAfterMs: number;
  /** Of an ingest: where in the iterable the failed batch began, so `invoices[3]` in the message is record `firstRecord` + 3. */
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
