import type { IncomingMessage } from "node:http";
import { giveBack, takeMemory } from "../store/spare-memory.ts";
import { ApiError } from "./errors.ts";
import { BODY_BYTES_MAX, tooLarge } from "./framing.ts";

const wrongLength = () => new ApiError(400, "the body is not as long as its Content-Length says");
/** Nobody gets more for saying that a long body comes: what is longer grows as it comes. */
const FIRST_BYTES_MAX = 64 * 1024;

const NOTHING = Buffer.alloc(0);

/**
 * The body of a request, in memory that whoever has read it gives back.
 *
 * @param done  told what is wrong, or the body
 */
export function readBody(request: IncomingMessage, done: (error: Error | null, body?: Buffer) => void) {
  const said = request.headers["content-length"];
  const expected = said === undefined ? undefined : Number(said);
  if (expected !== undefined && expected > BODY_BYTES_MAX) return done(tooLarge());
  let memory: Buffer = NOTHING;
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
    if (length + chunk.length > memory.length)
      grow(
        length === 0 ? Math.max(chunk.length, Math.min(expected ?? 0, FIRST_BYTES_MAX)) : 2 * (length + chunk.length),
      );
    length += chunk.copy(memory, length);
  }
  function grow(size: number) {
    const larger = takeMemory(size);
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
