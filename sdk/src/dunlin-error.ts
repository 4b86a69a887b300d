/** A request that Dunlin refused, or that got no answer although it was repeated. */
export class DunlinError extends Error {
  override readonly name = "DunlinError";
  /** The HTTP status; 0 when there was no answer at all (then `cause` says why). */
  readonly code: number;
  /** Names the request in Dunlin's logs; absent when there was no answer. */
  readonly requestId: string | undefined;
  /** As Dunlin sent it: empty for ingest, field violations for the list. */
  readonly details: readonly unknown[];

  constructor(
    code: number,
    message: string,
    more: { requestId?: string | undefined; details?: readonly unknown[]; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.requestId = more.requestId;
    this.details = more.details ?? [];
  }
}
