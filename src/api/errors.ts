/** A refusal of what a caller asked for. The message goes to the caller: it names the place, and never repeats a value. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The field or parameter at fault, when there is one. */
  readonly field: string | undefined;

  constructor(status: number, message: string, extra: { headers?: Record<string, string>; field?: string } = {}) {
    super(message);
    this.status = status;
    this.headers = extra.headers ?? {};
    this.field = extra.field;
  }
}

/** A 400 about one field or parameter: `"${field} ${says}"`. */
export const badField = (field: string, says: string) => new ApiError(400, `${field} ${says}`, { field });

/** The operation's family decides what `details` holds: ingest errors keep it empty. */
export type Family = "ingest" | "list" | "other";

/** `{code, message, details}`; `code` is the HTTP status. */
export function errorBody(family: Family, status: number, message: string, field?: string) {
  return { code: status, message, details: family === "list" && status === 400 ? [badRequest(message, field)] : [] };
}

const badRequest = (description: string, field: string | undefined) => ({
  "@type": "type.googleapis.com/google.rpc.BadRequest",
  fieldViolations: field === undefined ? [] : [{ field, description }],
});
