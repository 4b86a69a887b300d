import assert from "node:assert/strict";
import { test } from "node:test";
import { authorization, redact, spellings } from "./credential.ts";

test("a bearer token is sent as it is, a user and password as base64 of their UTF-8", () => {
  assert.equal(authorization("bearer", "tok"), "Bearer tok");
  assert.equal(authorization("basic", "Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  assert.equal(authorization("basic", "zoë:schlüssel"), "Basic em/DqzpzY2hsw7xzc2Vs");
});

test("a credential that a receiver echoes is redacted in every form", () => {
  const secrets = spellings("basic", 'merchant:p"ss:wörd');
  const base64 = Buffer.from('merchant:p"ss:wörd').toString("base64");
  const echoes = [
    'merchant:p"ss:wörd',
    'p"ss:wörd',
    base64,
    `Basic ${base64}`,
    'p\\"ss:wörd',
    encodeURIComponent('p"ss:wörd'),
  ];
  for (const echo of echoes) {
    const text = redact(`you sent ${echo}!`, secrets);
    assert.match(text, /\[redacted\]!$/, text);
    assert.doesNotMatch(text, /ss/, text);
  }
  assert.equal(redact('{"token":"abcdef"}', spellings("bearer", "abcdef")), '{"token":"[redacted]"}');
});

test("a secret that the end of the kept text cuts in two is redacted as well", () => {
  assert.equal(redact("you sent abcdefgh", spellings("bearer", "abcdefghijkl")), "you sent [redacted]");
  const cut = Buffer.from("you sent schlüssel").subarray(0, 14).toString();
  assert.equal(redact(cut, spellings("bearer", "schlüssel")), "you sent [redacted]");
  assert.equal(redact("you sent abc", spellings("bearer", "abcdefghijkl")), "you sent abc");
});

test("what is kept can be stored: no zero bytes, no half surrogates", () => {
  assert.equal(redact("a\u0000b\ud800c", []), "a\ufffdb\ufffdc");
});
