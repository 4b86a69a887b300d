import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { isApiKeyText, newApiKeyText } from "./api-key-text.ts";

test("a key is dln_live_, 30 base62 characters and a checksum that detects typos", () => {
  for (let count = 0; count < 200; count++) {
    const text = newApiKeyText(randomBytes);
    assert.match(text, /^dln_live_[0-9A-Za-z]{36}$/);
    assert.equal(isApiKeyText(text), true);
    const at = 9 + (count % 36);
    const typo = text.slice(0, at) + (text[at] === "x" ? "y" : "x") + text.slice(at + 1);
    assert.equal(isApiKeyText(typo), false);
  }
  for (const text of ["", "dln_live_", `${newApiKeyText(randomBytes)} `, `sk_live_${"x".repeat(36)}`])
    assert.equal(isApiKeyText(text), false);
});

test("the checksum of existing keys stays valid", () => {
  for (const text of ["dln_live_07ELSZgnu18FMTahov29GNUbipw3AH2UDLSZ", "dln_live_zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz1gXd1p"])
    assert.equal(isApiKeyText(text), true, text);
});

test("a text with another prefix is no key, even if its checksum is valid", () => {
  assert.equal(isApiKeyText("dln_test_0000000000000000000000000000000jt7ij"), false);
});

test("random bytes that would favor some letters are discarded", () => {
  const blocks = [Buffer.alloc(30, 255), Buffer.alloc(30, 248), Buffer.alloc(30, 247)];
  assert.match(
    newApiKeyText(() => blocks.shift() ?? Buffer.alloc(30)),
    /^dln_live_z{30}/,
  );
});
