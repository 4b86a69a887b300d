import assert from "node:assert/strict";
import { test } from "node:test";
import { runLives } from "./invoice-lives.ts";

test("in random lives of invoices no retry is sent for what is paid, and nothing that is owed is forgotten", async (t) => {
  assert.deepEqual(await runLives({ lives: 400, seed: 1, print: (line) => t.diagnostic(line) }), []);
});
