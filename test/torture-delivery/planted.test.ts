import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PLANTED } from "./planted.ts";

const ROOT = join(import.meta.dirname, "..", "..");

test("every planted bug still fits the source: rewrite its patch together with the code that it spoils", () => {
  const wrong = PLANTED.flatMap(({ name, patches }) =>
    patches
      .filter(({ file, find }) => readFileSync(join(ROOT, file), "utf8").split(find).length !== 2)
      .map(({ file, find }) => `${name}: not once in ${file}: ${find}`),
  );
  assert.deepEqual(wrong, []);
  assert.ok(PLANTED.length >= 10);
});
