import type { IncomingMessage } from "node:http";
import { ApiError } from "./errors.ts";

export const BODY_BYTES_MAX = 2 * 1024 * 1024;

// Status of the refusal. Node keeps the first value; a proxy may keep another.
const SINGLE_VALUE_HEADERS = new Map([
  ["host", 400],
  ["authorization", 401],
  ["content-type", 400],
  ["content-encoding", 400],
  ["transfer-encoding", 400],
]);

const CLOSE_CONNECTION = { headers: { connection: "close" } };

/** Refuses HTTP versions that Dunlin does not support, and Transfer-Encoding in HTTP/1.0, which allows request smuggling. */
export function refuseUnsupportedVersion({ httpVersion, headers }: Pick<IncomingMessage, "httpVersion" | "headers">) {
  if (httpVersion !== "1.1" && httpVersion !== "1.0")
    throw new ApiError(400, "the request is not valid HTTP/1.1", CLOSE_CONNECTION);
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined)
    throw new ApiError(400, "HTTP/1.0 does not support Transfer-Encoding: send Content-Length", CLOSE_CONNECTION);
}

export function refuseAmbiguousFraming({ rawHeaders, headers }: IncomingMessage) {
  let seen = "";
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    const status = SINGLE_VALUE_HEADERS.get(name);
    if (status === undefined) continue;
    if (seen.includes(`,${name},`)) throw new ApiError(status, `the header ${name} appears more than once`);
    seen += `,${name},`;
  }
  const transferEncoding = headers["transfer-encoding"];
  if (transferEncoding !== undefined && transferEncoding.toLowerCase() !== "chunked")
    throw new ApiError(400, "the only supported Transfer-Encoding is chunked");
  const { expect } = headers;
  if (expect !== undefined && expect.toLowerCase() !== "100-continue")
    throw new ApiError(417, "the only supported Expect is 100-continue");
}

const JSON_TYPE = /^application\/json *(?:; *charset *= *"?utf-8"? *)?;? *$/i;

/** Throws a 415 or 413 based on the headers. */
export function refuseUnsupportedBody({ headers }: IncomingMessage) {
  if (!JSON_TYPE.test(headers["content-type"] ?? ""))
    throw new ApiError(415, "Content-Type must be application/json, in UTF-8");
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    throw new ApiError(415, "Content-Encoding must be absent: compressed bodies are not accepted", {
      headers: { "accept-encoding": "identity" },
    });
  if (Number(headers["content-length"]) > BODY_BYTES_MAX) throw bodyTooLargeError();
}

export const bodyTooLargeError = () => new ApiError(413, `the body must not be larger than ${BODY_BYTES_MAX} bytes`);

/** Returns the origin form of a request target; the absolute form (http://host/path) is equivalent. */
export const originFormOf = (url: string) => url.replace(/^https?:\/\/[^/?#]*(?=[/?#]|$)/i, "") || "/";
