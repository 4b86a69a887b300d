import assert from "node:assert/strict";
import { test } from "node:test";
import { FAULTS, faultsOf } from "./faults.ts";
import { campaign } from "./torture.ts";

test("a restart of the database loses nothing, and is seen in the log, the metrics and the doctor", async (t) => {
  const { problems, lines } = await campaign({
    seed: 3,
    faults: ["database restarted"],
    print: (line) => t.diagnostic(line),
  });
  assert.deepEqual(problems, [], lines.join("\n"));
});

test("a campaign of 200 faults has each kind", () => {
  const faults = faultsOf(1, 200);
  assert.equal(faults.length, 200);
  assert.deepEqual(new Set(faults), new Set(FAULTS));
});
