import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { ApiError } from "./errors.ts";
import { BODY_BYTES_MAX } from "./framing.ts";
import { readBody } from "./read-body.ts";

function read(chunks: readonly (Buffer | "cut")[], length?: number) {
  const stream = new PassThrough();
  const headers = length === undefined ? {} : { "content-length": String(length) };
  const answers: (string | Error)[] = [];
  const done = Promise.withResolvers<string | Error>();
  readBody(Object.assign(stream, { headers }) as unknown as IncomingMessage, (error, body) => {
    answers.push(error ?? body!.toString());
    done.resolve(answers[0]!);
  });
  for (const chunk of chunks)
    if (chunk === "cut") stream.destroy();
    else stream.write(chunk);
  stream.end();
  return done.promise.finally(() => assert.equal(answers.length, 1));
}
const status = (answer: string | Error) => (answer instanceof ApiError ? answer.status : answer);
const text = (size: number) => Buffer.alloc(size, "x");

test("a body is read in full for any number of chunks, with and without Content-Length", async () => {
  for (const chunks of [
    [],
    [text(1)],
    [text(100_000)],
    Array(50).fill(text(1_000)),
    [text(0), text(70_000), text(1)],
  ]) {
    const whole = Buffer.concat(chunks).toString();
    assert.equal(await read(chunks, whole.length), whole);
    assert.equal(await read(chunks), whole);
  }
});

test("a body of the maximum size is read, and one byte more is refused, announced or not", async () => {
  const largest = text(BODY_BYTES_MAX);
  assert.equal(await read([largest]), largest.toString());
  assert.equal(status(await read([largest, text(1)])), 413);
  assert.equal(status(await read([], BODY_BYTES_MAX + 1)), 413);
});

test("a body is refused when it is longer or shorter than announced, or cut off", async () => {
  assert.equal(status(await read([text(10)], 11)), 400);
  assert.equal(status(await read([text(12)], 11)), 400);
  assert.equal(status(await read([text(10), "cut"])), 400);
  assert.equal(status(await read([text(10), "cut"], 20)), 400);
});
