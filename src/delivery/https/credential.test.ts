import assert from "node:assert/strict";
import { test } from "node:test";
import { authorizationHeader, credentialSpellings, redactSecrets } from "./credential.ts";

test("a bearer token is sent unchanged, and user and password are sent as base64 of UTF-8", () => {
  assert.equal(authorizationHeader("bearer", "tok"), "Bearer tok");
  assert.equal(authorizationHeader("basic", "Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  assert.equal(authorizationHeader("basic", "zoë:schlüssel"), "Basic em/DqzpzY2hsw7xzc2Vs");
});

test("an echoed credential is redacted in every encoding", () => {
  const secrets = credentialSpellings("basic", 'merchant:p"ss:wörd');
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
    const text = redactSecrets(`you sent ${echo}!`, secrets);
    assert.match(text, /\[redacted\]!$/, text);
    assert.doesNotMatch(text, /ss/, text);
  }
  assert.equal(redactSecrets('{"token":"abcdef"}', credentialSpellings("bearer", "abcdef")), '{"token":"[redacted]"}');
});

test("a secret that is cut off at the end of the stored text is redacted", () => {
  assert.equal(
    redactSecrets("you sent abcdefgh", credentialSpellings("bearer", "abcdefghijkl")),
    "you sent [redacted]",
  );
  const cutText = Buffer.from("you sent schlüssel").subarray(0, 14).toString();
  assert.equal(redactSecrets(cutText, credentialSpellings("bearer", "schlüssel")), "you sent [redacted]");
  assert.equal(redactSecrets("you sent abc", credentialSpellings("bearer", "abcdefghijkl")), "you sent abc");
});

test("the redacted text contains no zero bytes and no lone surrogates", () => {
  assert.equal(redactSecrets("a\u0000b\ud800c", []), "a\ufffdb\ufffdc");
});
