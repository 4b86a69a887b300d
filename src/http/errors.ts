/** An error for the caller. The message names the field at fault, and never repeats a value. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The first fields or parameters at fault. */
  readonly problems: readonly FieldProblem[];

  constructor(
    status: number,
    message: string,
    extra: { headers?: Record<string, string>; problems?: readonly FieldProblem[] } = {},
  ) {
    super(message);
    this.status = status;
    this.headers = extra.headers ?? {};
    this.problems = extra.problems ?? [];
  }
}

export interface FieldProblem {
  field: string;
  /** The rule that it breaks, as in "must be an integer". */
  rule: string;
}

const formatProblem = ({ field, rule }: FieldProblem) => `${field} ${rule}`;

export const badFieldError = (field: string, rule: string) => badFieldsError([{ field, rule }], 0);

/** Paths into unknown fields can be long. */
export const MESSAGE_CHARS_MAX = 8000;
const OMITTED_NOTE_CHARS = 40;

/**
 * Returns a 400 that lists problems, separated by semicolons, and counts omitted ones.
 *
 * @param problems  at least one
 * @param more  the number of further problems
 */
export function badFieldsError(problems: readonly FieldProblem[], more: number): ApiError {
  let message = formatProblem(problems[0]!);
  let listed = 1;
  for (; listed < problems.length; listed++) {
    const text = formatProblem(problems[listed]!);
    if (message.length + text.length + OMITTED_NOTE_CHARS > MESSAGE_CHARS_MAX) break;
    message += `; ${text}`;
  }
  const omitted = problems.length - listed + more;
  if (omitted > 0) message += `; and ${omitted} more ${omitted === 1 ? "problem" : "problems"}`;
  return new ApiError(400, message, { problems });
}

export const LIST_PATH = "/v1/recovery_actions";

/** Determines `details`, which ingest errors leave empty. */
export type OperationFamily = "ingest" | "list" | "other";

export function errorBody(
  family: OperationFamily,
  status: number,
  message: string,
  problems: readonly FieldProblem[] = [],
) {
  return { code: status, message, details: family === "list" ? [detailOf(status, problems)] : [] };
}

/** `domain` of a google.rpc.ErrorInfo. */
export const ERROR_DOMAIN = "dunlin";

/** `reason` of a google.rpc.ErrorInfo. */
const REASONS_BY_STATUS: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
  409: "CONFLICT",
  417: "EXPECTATION_FAILED",
  429: "TOO_MANY_REQUESTS",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};
const reasonOf = (status: number) => REASONS_BY_STATUS[status] ?? (status < 500 ? "REFUSED" : "INTERNAL");

const detailOf = (status: number, problems: readonly FieldProblem[]) =>
  status === 400
    ? {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        fieldViolations: problems.map((each) => ({ field: each.field, description: formatProblem(each) })),
      }
    : { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: reasonOf(status), domain: ERROR_DOMAIN };
