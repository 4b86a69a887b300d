import type { IncomingMessage } from "node:http";
import { ApiError } from "./errors.ts";
import { BODY_BYTES_MAX, bodyTooLargeError } from "./framing.ts";

const wrongLengthError = () => new ApiError(400, "the body length does not match Content-Length");

/**
 * Reads the body of a request. Allocates memory only for bytes that have arrived.
 *
 * @param done  called once
 */
export function readBody(request: IncomingMessage, done: (error: Error | null, body?: Buffer) => void) {
  const header = request.headers["content-length"];
  const expected = header === undefined ? undefined : Number(header);
  if (expected !== undefined && expected > BODY_BYTES_MAX) return done(bodyTooLargeError());
  const chunks: Buffer[] = [];
  let length = 0;

  request.on("data", onData);
  request.on("end", onEnd);
  request.on("error", onError);
  request.on("close", onError);
  request.resume();

  function end(error: Error | null) {
    request.removeListener("data", onData);
    request.removeListener("end", onEnd);
    request.removeListener("error", onError);
    request.removeListener("close", onError);
    if (error) done(error);
    else done(null, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length));
  }
  function onData(chunk: Buffer) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return end(bodyTooLargeError());
    chunks.push(chunk);
  }
  function onEnd() {
    end(expected === undefined || expected === length ? null : wrongLengthError());
  }
  function onError() {
    end(wrongLengthError());
  }
}
