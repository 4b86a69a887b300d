import assert from "node:assert/strict";
import { test } from "node:test";
import { newShadowFigures } from "./shadow-figures.ts";
import { describeRetries } from "./shadow-wording.ts";

test("retries that broke a rule are counted, and the text says so when there are none", () => {
  const describeForbidden = (retryCount: number, approved: number) =>
    describeRetries({ ...newShadowFigures(), forbidden: { tries: retryCount, approved } }).at(-1);
  assert.equal(describeForbidden(0, 0), "No retry in this comparison broke a network rule that Dunlin applies.");
  assert.match(
    describeForbidden(3, 1)!,
    /^3 retries in this comparison broke a network rule that Dunlin applies; 1 of these was approved\.$/,
  );
  assert.match(describeForbidden(3, 2)!, / 2 of these were approved\.$/);
});
