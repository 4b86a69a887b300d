import assert from "node:assert/strict";
import { test } from "node:test";
import { runLives } from "./invoice-lives.ts";

test("random lives of invoices cause no retry of a paid invoice and leave no owed invoice without a case", async (t) => {
  assert.deepEqual(await runLives({ lives: 400, seed: 1, print: (line) => t.diagnostic(line) }), []);
});
