import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { hashOfToken, newToken } from "./token.ts";

test("a token has 256 random bits, and only its SHA-256 is stored", () => {
  const token = newToken(randomBytes);
  assert.equal(Buffer.from(token, "base64url").length, 32);
  assert.notEqual(newToken(randomBytes), token);
  assert.deepEqual(hashOfToken(token), createHash("sha256").update(token).digest());
});

test("a text that does not have the format of a token has no hash", () => {
  const token = newToken(randomBytes);
  for (const text of ["", token.slice(1), `a${token}`, `${token}a`, `${token}\n`, `${token.slice(1)}+`])
    assert.equal(hashOfToken(text), null, text);
});
