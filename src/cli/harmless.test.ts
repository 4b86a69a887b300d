import assert from "node:assert/strict";
import { test } from "node:test";
import { AGAIN, harmless } from "./harmless.ts";

test("a terminal obeys nothing of what is printed", () => {
  assert.equal(harmless("\u001b[2J\u001b]0;owned\u0007 paid"), "·[2J·]0;owned· paid");
  assert.equal(harmless("a\rb\u0008c\u009b31md\u007fe"), "a·b·c·31md·e");
  assert.equal(harmless("\u202etxt.exe\u2066 x"), "·txt.exe· x");
  for (const plain of ["one\n\ttwo", "Größe 5 €, 😀", ""]) assert.equal(harmless(plain), plain);
});

test("a line may still be printed in place of the one before it", () => {
  assert.equal(harmless(`${AGAIN}5 rows so far`), `${AGAIN}5 rows so far`);
  assert.equal(harmless(`${AGAIN}x${AGAIN}y`), `${AGAIN}x·[1A·[2Ky`);
});
