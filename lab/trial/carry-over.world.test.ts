import assert from "node:assert/strict";
import { test } from "node:test";
import { type Cell, measureCarryOver } from "./carry-over.ts";
import { readPretrainedModel } from "./open-world.ts";

test("each policy is measured at the same merchants, and the oracle is ahead of six even retries", async () => {
  const reported: Cell[] = [];
  const leftOut: unknown[] = [];
  const cells = await measureCarryOver({
    worlds: ["issuers", "varied"],
    windows: [7],
    merchants: 2,
    customers: 60,
    explorations: 1,
    priorWithout(family) {
      leftOut.push(family);
      return readPretrainedModel();
    },
    onCell: (cell) => reported.push(cell),
  });
  assert.deepEqual(reported, cells);
  assert.deepEqual(leftOut, ["issuers", undefined]);
  for (const { ahead, cases, brokenRules, ece } of cells) {
    assert.deepEqual(Object.keys(ahead), ["cold", "warm", "oracle"]);
    assert.deepEqual(Object.keys(ece), ["cold", "warm"]);
    assert.ok(ahead.oracle!.mean > 0 && ahead.oracle!.mean > ahead.cold!.mean, JSON.stringify(ahead));
    assert.ok(cases > 20);
    assert.equal(brokenRules, 0);
  }
});
