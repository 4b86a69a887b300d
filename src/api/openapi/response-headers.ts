import type { DocumentPart } from "./field-schema.ts";

const text = (description: string, maxLength: number, pattern: string, example: string): DocumentPart => ({
  description,
  schema: { type: "string", maxLength, pattern },
  example,
});

const REQUEST_ID_PATTERN = "^req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
const CALLER_ID_PATTERN = "^[A-Za-z0-9._:-]*$";
const REQUEST_ID_EXAMPLE = "req_019bc082-4f5a-7d31-9c64-2b1f0a6e8d57";

/** `req_` and a UUIDv7. */
export const REQUEST_ID: DocumentPart = {
  type: "string",
  maxLength: 40,
  pattern: REQUEST_ID_PATTERN,
  description: "Names this request: quote it when you ask about it.",
  examples: [REQUEST_ID_EXAMPLE],
};

export const HEADERS: Readonly<Record<string, DocumentPart>> = {
  "X-Request-Id": {
    ...text(
      "Names this request, in every reply: quote it when you ask about it. The same as `requestId` of an ingest.",
      40,
      REQUEST_ID_PATTERN,
      REQUEST_ID_EXAMPLE,
    ),
    required: true,
  },
  "X-Caller-Request-Id": text(
    "The id that you gave to the request in X-Request-Id; absent when you gave none, or one that was passed over.",
    128,
    CALLER_ID_PATTERN,
    "checkout-7f3a",
  ),
  "RateLimit-Policy": text(
    "The limit of the key: `q` requests at once, all of them regained in `w` seconds.",
    64,
    '^"default";q=[0-9]+;w=[0-9]+$',
    '"default";q=100;w=1',
  ),
  RateLimit: text(
    "What is left of it: `r` requests now, all of them again in `t` seconds. Sent once the key is known and has the permission.",
    64,
    '^"default";r=[0-9]+;t=[0-9]+$',
    '"default";r=99;t=1',
  ),
  "Retry-After": {
    description: "In how many seconds to come again.",
    required: true,
    schema: { type: "integer", format: "int32", minimum: 1, maximum: 86_400 },
    example: 1,
  },
  "WWW-Authenticate": {
    ...text("How to authenticate.", 64, '^Bearer realm="dunlin"$', 'Bearer realm="dunlin"'),
    required: true,
  },
  "Accept-Encoding": text("Sent when a Content-Encoding was refused.", 16, "^identity$", "identity"),
  Allow: text("The methods that the path knows; with a 405.", 64, "^[A-Z, ]+$", "POST, OPTIONS"),
};

/** The id that a caller may give to its request. */
export const REQUEST_PARAMETERS: Readonly<Record<string, DocumentPart>> = {
  CallerRequestId: {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description:
      "An id of your own for this request. It stands beside ours in the logs, and comes back in `X-Caller-Request-Id`. One that does not fit, that begins " +
      "with `req_` as ours do, or that might be a key or a card number, is passed over.",
    schema: { type: "string", minLength: 1, maxLength: 128, pattern: CALLER_ID_PATTERN },
    example: "checkout-7f3a",
  },
};
export const CALLER_REQUEST_ID = { $ref: "#/components/parameters/CallerRequestId" };

/** References to some of them; the caller's own id is in every reply. */
export const headerRefs = (...names: (keyof typeof HEADERS & string)[]): DocumentPart =>
  Object.fromEntries([...names, "X-Caller-Request-Id"].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Those of every reply to a key of this service, also where it may not do what it asks. */
export const AUTHENTICATED_HEADERS = ["X-Request-Id", "RateLimit", "RateLimit-Policy"] as const;
