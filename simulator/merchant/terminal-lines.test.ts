import assert from "node:assert/strict";
import { test } from "node:test";
import { LINE_WIDTH, truncateLine, wrapList } from "./terminal-lines.ts";

test("a line too wide for the terminal ends before a number, not within it", () => {
  const words = (n: number) => Array.from({ length: n }, (_, i) => `retry ${i + 1}: ${1_000 + i}`).join(", ");
  for (let n = 6; n < 9; n++)
    for (let indent = 0; indent < 30; indent++) {
      const text = " ".repeat(indent) + words(n);
      const shown = truncateLine(text);
      assert.ok(shown.length <= LINE_WIDTH);
      if (text.length <= LINE_WIDTH) assert.equal(shown, text);
      else assert.match(shown, /(retry|retry \d|: \d{4})…$/);
    }
});

test("a text without words is cut at the terminal's width", () => {
  for (const text of ["x".repeat(200), `  ${"x".repeat(200)}`, `ab ${"x".repeat(200)}`])
    assert.deepEqual([truncateLine(text).length, truncateLine(text).at(-1)], [LINE_WIDTH, "…"]);
});

test("a list too wide for the terminal wraps with all of its numbers", () => {
  const parts = Array.from({ length: 30 }, (_, n) => `retry ${n + 1}: ${n}`);
  const lines = wrapList("  Retries:", parts);
  assert.ok(lines.length > 3 && lines.every((line) => line.length <= LINE_WIDTH));
  assert.equal(lines.map((line) => line.trim()).join(" "), `Retries: ${parts.join(", ")}`);
});
