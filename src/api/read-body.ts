import type { IncomingMessage } from "node:http";
import { giveBack, takeMemory } from "../store/spare-memory.ts";
import { ApiError } from "./errors.ts";
import { BODY_BYTES_MAX, tooLarge } from "./framing.ts";

const wrongLength = () => new ApiError(400, "the body is not as long as its Content-Length says");
const UNKNOWN_BYTES = 64 * 1024;

/**
 * The body of a request, in memory that whoever has read it gives back.
 *
 * @param done  told what is wrong, or the body
 */
export function readBody(request: IncomingMessage, done: (error: Error | null, body?: Buffer) => void) {
  const said = request.headers["content-length"];
  const expected = said === undefined ? undefined : Number(said);
  if (expected !== undefined && expected > BODY_BYTES_MAX) return done(tooLarge());
  let memory = takeMemory(expected ?? UNKNOWN_BYTES);
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
    if (error) giveBack(memory);
    if (error) done(error);
    else done(null, memory.subarray(0, length));
  }
  function onData(chunk: Buffer) {
    if (length + chunk.length > BODY_BYTES_MAX) return end(tooLarge());
    if (length + chunk.length > memory.length) grow(length + chunk.length);
    length += chunk.copy(memory, length);
  }
  function grow(needed: number) {
    const larger = takeMemory(2 * needed);
    memory.copy(larger, 0, 0, length);
    giveBack(memory);
    memory = larger;
  }
  function onEnd() {
    end(expected === undefined || expected === length ? null : wrongLength());
  }
  function onError() {
    end(wrongLength());
  }
}
