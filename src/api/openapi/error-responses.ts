import { PERMISSIONS, type Permission } from "../../domain/permission.ts";
import { errorBody, type FieldProblem, type OperationFamily } from "../../http/errors.ts";
import { BODY_BYTES_MAX } from "../../http/framing.ts";
import type { DocumentPart } from "./field-schema.ts";
import { AUTHENTICATED_HEADERS, headerRefs } from "./response-headers.ts";

/** Examples of a reply by their names: the message is the whole of it that differs. */
export type MessagesByExample = Readonly<
  Record<string, string | { message: string; problems: readonly FieldProblem[] }>
>;

const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** `{code, message, details}` with its examples, as the service itself builds them. */
function errorContent(family: OperationFamily, status: number, messages: MessagesByExample): DocumentPart {
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

/** `ingest:invoices` as names of examples may be: `ingest_invoices`. */
const exampleNameOf = (permission: Permission) => permission.replace(":", "_");

type HeaderNames = Parameters<typeof headerRefs>;

/** A reply that several operations have in common. */
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
    description: "The key lacks the permission of the operation.",
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
      "The rate limit of the key is exceeded, too many of its requests are in flight, or too many wrong keys came from the address.",
    status: 429,
    headers: [...AUTHENTICATED_HEADERS, "Retry-After"],
    messages: {
      tooMany: "rate limit of 100 requests per second exceeded",
      atOnce: "more than 10 requests of this key at once",
      wrongKeys: "too many API keys from this address are not valid",
    },
  },
  InternalError: {
    description: "A fault of the service. The same request may be sent again.",
    status: 500,
    headers: [...AUTHENTICATED_HEADERS],
    messages: { internal: "internal error: it was logged under the requestId in X-Request-Id" },
  },
  Unavailable: {
    description: "The database is out of reach. Send it again.",
    status: 503,
    headers: [...AUTHENTICATED_HEADERS, "Retry-After"],
    messages: { unavailable: "the database is out of reach: send the same request again" },
  },
  NotReady: {
    description: "What the service depends on is missing: send it no requests.",
    status: 503,
    headers: ["X-Request-Id", "Retry-After"],
    messages: { notReady: "not ready: the database does not answer" },
  },
};

/** Those of the list, whose errors carry details. */
const LIST_RESPONSE_NAMES = ["Unauthorized", "Forbidden", "TooManyRequests", "InternalError", "Unavailable"];

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
  notFound: { value: errorBody("other", 404, "there is nothing at this path") },
  slow: { value: errorBody("other", 408, "the request took too long to arrive") },
  headers: { value: errorBody("other", 431, "the headers are too large") },
};
const OTHER =
  "Any other refusal: no such path (404), another method (405), a request that arrives too slowly (408), an `Expect` that is not understood " +
  "(417), headers over 32 KiB (431).";

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
        method: { value: errorBody(family, 405, `this path takes ${allowed} only`) },
        expect: { value: errorBody(family, 417, "the only Expect understood is 100-continue") },
      },
    },
  },
});

/** Replies that are the same for every operation that has them. */
export const RESPONSES: Readonly<Record<string, DocumentPart>> = {
  ...Object.fromEntries(Object.entries(SHARED_RESPONSES).map(([name, each]) => [name, errorResponse("other", each)])),
  ...Object.fromEntries(
    LIST_RESPONSE_NAMES.map((name) => [`List${name}`, errorResponse("list", SHARED_RESPONSES[name]!)]),
  ),
  Other: otherResponse(OTHER, "other", "POST, OPTIONS", schemaRef("Error")),
  ListOther: otherResponse(
    `${OTHER} Where the operation could not be told yet, \`details\` is empty.`,
    "list",
    "GET, HEAD, OPTIONS",
    {
      oneOf: [schemaRef("ListOtherError"), schemaRef("Error")],
    },
  ),
};

/** The refusals of an operation that needs a key. */
export function refusalResponses(family: "ingest" | "list", badRequests: MessagesByExample): DocumentPart {
  const shared = (name: string) => ({ $ref: `#/components/responses/${family === "list" ? "List" : ""}${name}` });
  return {
    400: {
      description: "The request is not valid: the message names the place. Nothing was stored.",
      headers: headerRefs(...AUTHENTICATED_HEADERS),
      content: errorContent(family, 400, badRequests),
    },
    401: shared("Unauthorized"),
    403: shared("Forbidden"),
    ...(family === "ingest" && { 413: shared("TooLarge"), 415: shared("OtherBody") }),
    429: shared("TooManyRequests"),
    500: shared("InternalError"),
    503: shared("Unavailable"),
    "4XX": shared("Other"),
  };
}
