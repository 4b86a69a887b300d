import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { findKeyWeakness } from "./read-secret-keys.ts";

test("text, digits and repeated bytes are weak keys", () => {
  for (const text of ["0123456789abcdef0123456789abcdef", "correct horse battery staple, 32", "x".repeat(32)])
    assert.match(findKeyWeakness(Buffer.from(text))!, /is text in base64/, text);
  assert.match(findKeyWeakness(Buffer.alloc(32, 200))!, /repeats a few bytes/);
  assert.match(findKeyWeakness(Buffer.from([...Array(32).keys()].map((n) => n % 17)))!, /repeats a few bytes/);
});

test("random keys are not weak", () => {
  for (let n = 0; n < 10_000; n++) assert.equal(findKeyWeakness(randomBytes(32)), null);
});
