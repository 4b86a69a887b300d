import { PERMISSIONS, type Permission } from "../../domain/permission.ts";
import { errorBody, type Family } from "../errors.ts";
import { BODY_BYTES_MAX } from "../framing.ts";
import type { Part } from "./field-schema.ts";
import { headers, LET_IN } from "./headers.ts";

/** Examples of a reply by their names: the message is the whole of it that differs. */
export type Messages = Readonly<Record<string, string | { message: string; field?: string }>>;

const schema = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** `{code, message, details}` with its examples, as the service itself builds them. */
function errorContent(family: Family, status: number, messages: Messages): Part {
  const examples = Object.entries(messages).map(([name, each]) => {
    const { message, field } = typeof each === "string" ? { message: each, field: undefined } : each;
    return [name, { value: errorBody(family, status, message, field) }];
  });
  return {
    "application/json": {
      schema: schema(family === "list" && status === 400 ? "ListError" : "Error"),
      examples: Object.fromEntries(examples),
    },
  };
}

function response(description: string, status: number, names: Parameters<typeof headers>, messages: Messages): Part {
  return { description, headers: headers(...names), content: errorContent("other", status, messages) };
}

/** `ingest:invoices` as names of examples may be: `ingest_invoices`. */
const nameOf = (permission: Permission) => permission.replace(":", "_");

/** Replies that are the same for every operation that has them. */
export const RESPONSES: Readonly<Record<string, Part>> = {
  Unauthorized: response("The API key is missing or not valid.", 401, ["X-Request-Id", "WWW-Authenticate"], {
    missing: "the header Authorization: Bearer <API_KEY> is missing",
    malformed: "the Authorization header must be: Bearer <API_KEY>",
    invalid: "the API key is not valid",
  }),
  Forbidden: response(
    "The key lacks the permission of the operation.",
    403,
    ["X-Request-Id"],
    Object.fromEntries(PERMISSIONS.map((name) => [nameOf(name), `the API key lacks the permission ${name}`])),
  ),
  TooLarge: response("The body is too large.", 413, [...LET_IN], {
    tooLarge: `the body must not be larger than ${BODY_BYTES_MAX} bytes`,
  }),
  OtherBody: response("The body is not JSON in UTF-8, or is compressed.", 415, [...LET_IN, "Accept-Encoding"], {
    contentType: "Content-Type must be application/json, in UTF-8",
    contentEncoding: "Content-Encoding must be absent: compressed bodies are not accepted",
  }),
  TooManyRequests: response(
    "The rate limit of the key is exceeded, too many of its requests are in flight, or too many wrong keys came from the address.",
    429,
    [...LET_IN, "Retry-After"],
    {
      tooMany: "rate limit of 100 requests per second exceeded",
      atOnce: "more than 10 requests of this key at once",
      wrongKeys: "too many API keys from this address are not valid",
    },
  ),
  InternalError: response("A fault of the service. The same request may be sent again.", 500, [...LET_IN], {
    internal: "internal error: it was logged under the requestId in X-Request-Id",
  }),
  Unavailable: response("The database is out of reach. Send it again.", 503, [...LET_IN, "Retry-After"], {
    unavailable: "the database is out of reach: send the same request again",
  }),
  NotReady: response(
    "What the service depends on is missing: send it no requests.",
    503,
    ["X-Request-Id", "Retry-After"],
    {
      notReady: "not ready: the database does not answer",
    },
  ),
  Other: {
    description:
      "Any other refusal: no such path (404), another method (405), a request that arrives too slowly (408), an `Expect` that is not understood " +
      "(417), headers over 32 KiB (431).",
    headers: headers("X-Request-Id", "Allow"),
    content: {
      "application/json": {
        schema: schema("Error"),
        examples: {
          notFound: { value: errorBody("other", 404, "there is nothing at this path") },
          method: { value: errorBody("other", 405, "this path takes POST, OPTIONS only") },
          slow: { value: errorBody("other", 408, "the request took too long to arrive") },
          expect: { value: errorBody("other", 417, "the only Expect understood is 100-continue") },
          headers: { value: errorBody("other", 431, "the headers are too large") },
        },
      },
    },
  },
};

const shared = (name: keyof typeof RESPONSES & string) => ({ $ref: `#/components/responses/${name}` });

/** The refusals of an operation that needs a key. */
export function refusals(family: "ingest" | "list", badRequests: Messages): Part {
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
