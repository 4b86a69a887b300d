import type { DocumentPart } from "./field-schema.ts";

const text = (description: string, maxLength: number, pattern: string, example: string): DocumentPart => ({
  description,
  schema: { type: "string", maxLength, pattern },
  example,
});

const REQUEST_ID_PATTERN = "^req_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
const CALLER_ID_PATTERN = "^[A-Za-z0-9._:-]*$";
const REQUEST_ID_EXAMPLE = "req_019bc082-4f5a-7d31-9c64-2b1f0a6e8d57";

export const REQUEST_ID: DocumentPart = {
  type: "string",
  maxLength: 40,
  pattern: REQUEST_ID_PATTERN,
  description: "The id of this request. Quote it in support requests.",
  examples: [REQUEST_ID_EXAMPLE],
};

export const HEADERS: Readonly<Record<string, DocumentPart>> = {
  "X-Request-Id": {
    ...text(
      "The id of this request, in every reply. Quote it in support requests. The same as `requestId` in the reply to an ingest.",
      40,
      REQUEST_ID_PATTERN,
      REQUEST_ID_EXAMPLE,
    ),
    required: true,
  },
  "X-Caller-Request-Id": text(
    "The id that you sent in X-Request-Id; absent if you sent none, or one that was ignored.",
    128,
    CALLER_ID_PATTERN,
    "checkout-7f3a",
  ),
  "RateLimit-Policy": text(
    "The rate limit of the key: `q` requests at once, refilled completely in `w` seconds.",
    64,
    '^"default";q=[0-9]+;w=[0-9]+$',
    '"default";q=100;w=1',
  ),
  RateLimit: text(
    "The rest of the rate limit: `r` requests now, all of them again in `t` seconds. Sent once the key is verified.",
    64,
    '^"default";r=[0-9]+;t=[0-9]+$',
    '"default";r=99;t=1',
  ),
  "Retry-After": {
    description: "How many seconds to wait before you send the request again.",
    required: true,
    schema: { type: "integer", format: "int32", minimum: 1, maximum: 86_400 },
    example: 1,
  },
  "WWW-Authenticate": {
    ...text("How to authenticate.", 64, '^Bearer realm="dunlin"$', 'Bearer realm="dunlin"'),
    required: true,
  },
  "Accept-Encoding": text("Sent if a Content-Encoding was refused.", 16, "^identity$", "identity"),
  Allow: text("The methods that the path supports. Sent with a 405.", 64, "^[A-Z, ]+$", "POST, OPTIONS"),
};

export const REQUEST_PARAMETERS: Readonly<Record<string, DocumentPart>> = {
  CallerRequestId: {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description:
      "Your own id for this request. Dunlin logs it beside its own id, and returns it in `X-Caller-Request-Id`. An id is ignored if it does not match the " +
      "pattern, begins with `req_` like Dunlin's ids, or could be an API key or a card number.",
    schema: { type: "string", minLength: 1, maxLength: 128, pattern: CALLER_ID_PATTERN },
    example: "checkout-7f3a",
  },
};
export const CALLER_REQUEST_ID = { $ref: "#/components/parameters/CallerRequestId" };

/** Every reply can carry `X-Caller-Request-Id`. */
export const headerRefs = (...names: (keyof typeof HEADERS & string)[]): DocumentPart =>
  Object.fromEntries([...names, "X-Caller-Request-Id"].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** On every reply to a valid key, even without the permission. */
export const AUTHENTICATED_HEADERS = ["X-Request-Id", "RateLimit", "RateLimit-Policy"] as const;
