/** A refusal of what a caller asked for. The message goes to the caller: it names the place, and never repeats a value. */
export class ApiError extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The fields or parameters at fault, if there are any: the first ones of them, in order. */
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

/** A field or parameter that is not as it must be. */
export interface FieldProblem {
  field: string;
  /** What it must be, as in "must be an integer". */
  says: string;
}

const formatProblem = ({ field, says }: FieldProblem) => `${field} ${says}`;

/** A 400 about one field or parameter. */
export const badFieldError = (field: string, says: string) => badFieldsError([{ field, says }], 0);

/** The longest message that lists problems. A path into unknown fields may be long. */
export const MESSAGE_CHARS_MAX = 8000;
const OMITTED_NOTE_CHARS = 40;

/**
 * Returns a 400 that lists problems, joined by semicolons, and says how many more there are.
 *
 * @param problems  at least one
 * @param more  how many problems are not among them
 */
export function badFieldsError(problems: readonly FieldProblem[], more: number): ApiError {
  let message = formatProblem(problems[0]!);
  let listed = 1;
  for (; listed < problems.length; listed++) {
    const words = formatProblem(problems[listed]!);
    if (message.length + words.length + OMITTED_NOTE_CHARS > MESSAGE_CHARS_MAX) break;
    message += `; ${words}`;
  }
  const left = problems.length - listed + more;
  if (left > 0) message += `; and ${left} more ${left === 1 ? "problem" : "problems"}`;
  return new ApiError(400, message, { problems });
}

export const LIST_PATH = "/v1/recovery_actions";

/** The operation's family decides what `details` holds: ingest errors keep it empty. */
export type OperationFamily = "ingest" | "list" | "other";

/** `{code, message, details}`; `code` is the HTTP status. */
export function errorBody(
  family: OperationFamily,
  status: number,
  message: string,
  problems: readonly FieldProblem[] = [],
) {
  return { code: status, message, details: family === "list" ? [detailOf(status, problems)] : [] };
}

/** Whose reasons they are. */
export const ERROR_DOMAIN = "dunlin";

/** The words for programs, by status. */
const REASONS_BY_STATUS: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "METHOD_NOT_ALLOWED",
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
