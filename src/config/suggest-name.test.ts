import assert from "node:assert/strict";
import { test } from "node:test";
import { suggestName } from "./suggest-name.ts";

const NAMES = ["serve", "demo", "merchant create", "DUNLIN_PORT", "DUNLIN_TLS"];

test("a typing error gets a suggestion, and an unrelated word gets none", () => {
  for (const [typed, meant] of [
    ["sevre", "serve"],
    ["merchnt create", "merchant create"],
    ["DUNLIN_PROT", "DUNLIN_PORT"],
  ])
    assert.equal(suggestName(typed!, NAMES), ` Did you mean ${meant}?`);
  for (const typed of ["key", "--version", "DUNLIN_FOO", "d", ""]) assert.equal(suggestName(typed, NAMES), "", typed);
});
