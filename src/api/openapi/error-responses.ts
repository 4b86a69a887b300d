import { PERMISSIONS, type Permission } from "../../domain/permission.ts";
import { errorBody, type FieldProblem, type OperationFamily } from "../../http/errors.ts";
import { BODY_BYTES_MAX } from "../../http/framing.ts";
import type { DocumentPart } from "./field-schema.ts";
import { AUTHENTICATED_HEADERS, headerRefs } from "./response-headers.ts";

export type MessagesByExample = Readonly<
  Record<string, string | { message: string; problems: readonly FieldProblem[] }>
>;

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** From the service's own code. */
export function errorContent(family: OperationFamily, status: number, messages: MessagesByExample): DocumentPart {
  const examples = Object.entries(messages).map(([name, each]) => {
    const { message, problems } = typeof each === "string" ? { message: each, problems: [] } : each;
    return [name, { value: errorBody(family, status, message, problems) }];
  });
  return {
    "application/json": {
      schema: schemaRef(family !== "list" ? "Error" : status === 400 ? "ListError" : "ListOtherError"),
      examples: Object.fromEntries(examples),
    },
  };
}

/** Example names may hold no colon. */
const exampleNameOf = (permission: Permission) => permission.replace(":", "_");

type HeaderNames = Parameters<typeof headerRefs>;

interface SharedResponse {
  description: string;
  status: number;
  headers: HeaderNames;
  messages: MessagesByExample;
}

const SHARED_RESPONSES: Readonly<Record<string, SharedResponse>> = {
  Unauthorized: {
    description: "The API key is missing or not valid.",
    status: 401,
    headers: ["X-Request-Id", "WWW-Authenticate"],
    messages: {
      missing: "the header Authorization: Bearer <API_KEY> is missing",
      malformed: "the Authorization header must be: Bearer <API_KEY>",
      invalid: "the API key is not valid",
    },
  },
  Forbidden: {
    description: "The key lacks the permission that the operation needs.",
    status: 403,
    headers: [...AUTHENTICATED_HEADERS],
    messages: Object.fromEntries(
      PERMISSIONS.map((name) => [exampleNameOf(name), `the API key lacks the permission ${name}`]),
    ),
  },
  TooLarge: {
    description: "The body is too large.",
    status: 413,
    headers: [...AUTHENTICATED_HEADERS],
    messages: { tooLarge: `the body must not be larger than ${BODY_BYTES_MAX} bytes` },
  },
  OtherBody: {
    description: "The body is not JSON in UTF-8, or is compressed.",
    status: 415,
    headers: [...AUTHENTICATED_HEADERS, "Accept-Encoding"],
    messages: {
      contentType: "Content-Type must be application/json, in UTF-8",
      contentEncoding: "Content-Encoding must be absent: compressed bodies are not accepted",
    },
  },
  TooManyRequests: {
    description:
      "The rate limit of the key is exceeded, too many of its requests are in flight, or the address sent too many invalid keys.",
    status: 429,
    headers: [...AUTHENTICATED_HEADERS, "Retry-After"],
    messages: {
      tooMany: "rate limit of 100 requests per second exceeded",
      atOnce: "more than 10 requests with this key are in flight",
      wrongKeys: "too many invalid API keys from this address",
    },
  },
  InternalError: {
    description: "An internal error. You can send the same request again.",
    status: 500,
    headers: [...AUTHENTICATED_HEADERS],
    messages: { internal: "internal error: for details, search the log for the id in X-Request-Id" },
  },
  Unavailable: {
    description: "The database is unavailable. Send the same request again.",
    status: 503,
    headers: [...AUTHENTICATED_HEADERS, "Retry-After"],
    messages: { unavailable: "the database is unavailable: send the same request again" },
  },
  NotReady: {
    description: "Something that the service depends on is unavailable. Send it no requests.",
    status: 503,
    headers: ["X-Request-Id", "Retry-After"],
    messages: { notReady: "not ready: the database does not answer" },
  },
};

/** The list has a variant with details. */
const LIST_RESPONSE_NAMES = [
  "Unauthorized",
  "Forbidden",
  "TooLarge",
  "OtherBody",
  "TooManyRequests",
  "InternalError",
  "Unavailable",
];

const errorResponse = (
  family: OperationFamily,
  { description, status, headers: names, messages }: SharedResponse,
): DocumentPart => ({
  description,
  headers: headerRefs(...names),
  content: errorContent(family, status, messages),
});

const OTHER_HEADERS = headerRefs("X-Request-Id", "Allow");
const OTHER_EXAMPLES = {
  notFound: { value: errorBody("other", 404, "this path does not exist") },
  slow: { value: errorBody("other", 408, "the request took too long to arrive") },
  headers: { value: errorBody("other", 431, "the headers are too large") },
};
const OTHER =
  "Any other refusal: an unknown path (404), an unsupported method (405), a request that arrives too slowly (408), an unsupported `Expect` (417), " +
  "headers over 32 KiB (431).";

const otherResponse = (
  description: string,
  family: OperationFamily,
  allowed: string,
  schema: DocumentPart,
): DocumentPart => ({
  description,
  headers: OTHER_HEADERS,
  content: {
    "application/json": {
      schema,
      examples: {
        ...OTHER_EXAMPLES,
        method: { value: errorBody(family, 405, `this path supports ${allowed} only`) },
        expect: { value: errorBody(family, 417, "the only supported Expect is 100-continue") },
      },
    },
  },
});

export const RESPONSES: Readonly<Record<string, DocumentPart>> = {
  ...Object.fromEntries(Object.entries(SHARED_RESPONSES).map(([name, each]) => [name, errorResponse("other", each)])),
  ...Object.fromEntries(
    LIST_RESPONSE_NAMES.map((name) => [`List${name}`, errorResponse("list", SHARED_RESPONSES[name]!)]),
  ),
  Other: otherResponse(OTHER, "other", "POST, OPTIONS", schemaRef("Error")),
  ListOther: otherResponse(
    `${OTHER} If Dunlin refuses the request before it knows the operation, \`details\` is empty.`,
    "list",
    "GET, HEAD, OPTIONS",
    {
      oneOf: [schemaRef("ListOtherError"), schemaRef("Error")],
    },
  ),
};

/**
 * @param badRequests  null: the operation has nothing to get wrong
 * @param hasBody  the default is that of the family
 */
export function refusalResponses(
  family: "ingest" | "list",
  badRequests: MessagesByExample | null,
  hasBody = family === "ingest",
): DocumentPart {
  const shared = (name: string) => ({ $ref: `#/components/responses/${family === "list" ? "List" : ""}${name}` });
  return {
    ...(badRequests && {
      400: {
        description: "The request is invalid: the message names the field. Nothing was stored.",
        headers: headerRefs(...AUTHENTICATED_HEADERS),
        content: errorContent(family, 400, badRequests),
      },
    }),
    401: shared("Unauthorized"),
    403: shared("Forbidden"),
    ...(hasBody && { 413: shared("TooLarge"), 415: shared("OtherBody") }),
    429: shared("TooManyRequests"),
    500: shared("InternalError"),
    503: shared("Unavailable"),
    "4XX": shared("Other"),
  };
}
