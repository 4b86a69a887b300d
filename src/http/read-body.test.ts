import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { ApiError } from "./errors.ts";
import { BODY_BYTES_MAX } from "./framing.ts";
import { readBody } from "./read-body.ts";

/** What becomes of a body that comes in these pieces. */
function read(pieces: readonly (Buffer | "cut")[], length?: number) {
  const stream = new PassThrough();
  const headers = length === undefined ? {} : { "content-length": String(length) };
  const answers: (string | Error)[] = [];
  const done = Promise.withResolvers<string | Error>();
  readBody(Object.assign(stream, { headers }) as unknown as IncomingMessage, (error, body) => {
    answers.push(error ?? body!.toString());
    done.resolve(answers[0]!);
  });
  for (const piece of pieces)
    if (piece === "cut") stream.destroy();
    else stream.write(piece);
  stream.end();
  return done.promise.finally(() => assert.equal(answers.length, 1));
}
const status = (answer: string | Error) => (answer instanceof ApiError ? answer.status : answer);
const text = (size: number) => Buffer.alloc(size, "x");

test("a body is read whole in however many pieces it comes, and whether or not its length is known", async () => {
  for (const pieces of [
    [],
    [text(1)],
    [text(100_000)],
    Array(50).fill(text(1_000)),
    [text(0), text(70_000), text(1)],
  ]) {
    const whole = Buffer.concat(pieces).toString();
    assert.equal(await read(pieces, whole.length), whole);
    assert.equal(await read(pieces), whole);
  }
});

test("a body of the largest size is read, and one byte more is refused, said or not", async () => {
  const largest = text(BODY_BYTES_MAX);
  assert.equal(await read([largest]), largest.toString());
  assert.equal(status(await read([largest, text(1)])), 413);
  assert.equal(status(await read([], BODY_BYTES_MAX + 1)), 413);
});

test("a body that is longer or shorter than it was said, or is cut off, is refused", async () => {
  assert.equal(status(await read([text(10)], 11)), 400);
  assert.equal(status(await read([text(12)], 11)), 400);
  assert.equal(status(await read([text(10), "cut"])), 400);
  assert.equal(status(await read([text(10), "cut"], 20)), 400);
});
