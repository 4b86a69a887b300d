import { PERMISSIONS, type Permission } from "../../domain/permission.ts";
import { errorBody, type Family, type Problem } from "../errors.ts";
import { BODY_BYTES_MAX } from "../framing.ts";
import type { Part } from "./field-schema.ts";
import { headers, LET_IN } from "./headers.ts";

/** Examples of a reply by their names: the message is the whole of it that differs. */
export type Messages = Readonly<Record<string, string | { message: string; problems: readonly Problem[] }>>;

const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** `{code, message, details}` with its examples, as the service itself builds them. */
function errorContent(family: Family, status: number, messages: Messages): Part {
  const examples = Object.entries(messages).map(([name, each]) => {
    const { message, problems } = typeof each === "string" ? { message: each, problems: [] } : each;
    return [name, { value: errorBody(family, status, message, problems) }];
  });
  return {
    "application/json": {
      schema: schema(family !== "list" ? "Error" : status === 400 ? "ListError" : "ListOtherError"),
      examples: Object.fromEntries(examples),
    },
  };
}

/** `ingest:invoices` as names of examples may be: `ingest_invoices`. */
const nameOf = (permission: Permission) => permission.replace(":", "_");

type Names = Parameters<typeof headers>;

/** A reply that several operations have in common. */
interface Shared {
  description: string;
  status: number;
  headers: Names;
  messages: Messages;
}

const SHARED: Readonly<Record<string, Shared>> = {
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
    headers: [...LET_IN],
    messages: Object.fromEntries(PERMISSIONS.map((name) => [nameOf(name), `the API key lacks the permission ${name}`])),
  },
  TooLarge: {
    description: "The body is too large.",
    status: 413,
    headers: [...LET_IN],
    messages: { tooLarge: `the body must not be larger than ${BODY_BYTES_MAX} bytes` },
  },
  OtherBody: {
    description: "The body is not JSON in UTF-8, or is compressed.",
    status: 415,
    headers: [...LET_IN, "Accept-Encoding"],
    messages: {
      contentType: "Content-Type must be application/json, in UTF-8",
      contentEncoding: "Content-Encoding must be absent: compressed bodies are not accepted",
    },
  },
  TooManyRequests: {
    description:
      "The rate limit of the key is exceeded, too many of its requests are in flight, or too many wrong keys came from the address.",
    status: 429,
    headers: [...LET_IN, "Retry-After"],
    messages: {
      tooMany: "rate limit of 100 requests per second exceeded",
      atOnce: "more than 10 requests of this key at once",
      wrongKeys: "too many API keys from this address are not valid",
    },
  },
  InternalError: {
    description: "A fault of the service. The same request may be sent again.",
    status: 500,
    headers: [...LET_IN],
    messages: { internal: "internal error: it was logged under the requestId in X-Request-Id" },
  },
  Unavailable: {
    description: "The database is out of reach. Send it again.",
    status: 503,
    headers: [...LET_IN, "Retry-After"],
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
const OF_LIST = ["Unauthorized", "Forbidden", "TooManyRequests", "InternalError", "Unavailable"];

const response = (family: Family, { description, status, headers: names, messages }: Shared): Part => ({
  description,
  headers: headers(...names),
  content: errorContent(family, status, messages),
});

const OTHER_HEADERS = headers("X-Request-Id", "Allow");
const OTHER_EXAMPLES = {
  notFound: { value: errorBody("other", 404, "there is nothing at this path") },
  slow: { value: errorBody("other", 408, "the request took too long to arrive") },
  headers: { value: errorBody("other", 431, "the headers are too large") },
};
const OTHER =
  "Any other refusal: no such path (404), another method (405), a request that arrives too slowly (408), an `Expect` that is not understood " +
  "(417), headers over 32 KiB (431).";

const others = (description: string, family: Family, allowed: string, schema: Part): Part => ({
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
export const RESPONSES: Readonly<Record<string, Part>> = {
  ...Object.fromEntries(Object.entries(SHARED).map(([name, each]) => [name, response("other", each)])),
  ...Object.fromEntries(OF_LIST.map((name) => [`List${name}`, response("list", SHARED[name]!)])),
  Other: others(OTHER, "other", "POST, OPTIONS", schema("Error")),
  ListOther: others(
    `${OTHER} Where the operation could not be told yet, \`details\` is empty.`,
    "list",
    "GET, HEAD, OPTIONS",
    {
      oneOf: [schema("ListOtherError"), schema("Error")],
    },
  ),
};

/** The refusals of an operation that needs a key. */
export function refusals(family: "ingest" | "list", badRequests: Messages): Part {
  const shared = (name: string) => ({ $ref: `#/components/responses/${family === "list" ? "List" : ""}${name}` });
  return {
    400: {
      description: "The request is not valid: the message names the place. Nothing was stored.",
      headers: headers(...LET_IN),
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
