import assert from "node:assert/strict";
import { test } from "node:test";
import { CLEAR_PREVIOUS_LINE, escapeTerminalText } from "./terminal-text.ts";

test("control characters in printed text are replaced", () => {
  assert.equal(escapeTerminalText("\u001b[2J\u001b]0;owned\u0007 paid"), "·[2J·]0;owned· paid");
  assert.equal(escapeTerminalText("a\rb\u0008c\u009b31md\u007fe"), "a·b·c·31md·e");
  assert.equal(escapeTerminalText("\u202etxt.exe\u2066 x"), "·txt.exe· x");
  for (const plain of ["one\n\ttwo", "Größe 5 €, 😀", ""]) assert.equal(escapeTerminalText(plain), plain);
});

test("a leading CLEAR_PREVIOUS_LINE is kept", () => {
  assert.equal(escapeTerminalText(`${CLEAR_PREVIOUS_LINE}5 rows so far`), `${CLEAR_PREVIOUS_LINE}5 rows so far`);
  assert.equal(
    escapeTerminalText(`${CLEAR_PREVIOUS_LINE}x${CLEAR_PREVIOUS_LINE}y`),
    `${CLEAR_PREVIOUS_LINE}x·[1A·[2Ky`,
  );
});
