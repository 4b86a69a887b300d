import assert from "node:assert/strict";
import { test } from "node:test";
import { drawFaults, FAULTS } from "./operation-faults.ts";
import { runOperationsCampaign } from "./operations-campaign.ts";

test("a database restart and a newer version beside the one before lose no data, and show in the log, the metrics and doctor", async (t) => {
  const { problems, lines } = await runOperationsCampaign({
    seed: 3,
    faults: ["database restarted", "two versions"],
    print: (line) => t.diagnostic(line),
  });
  assert.deepEqual(problems, [], lines.join("\n"));
});

test("a campaign of 200 faults has each kind", () => {
  const faults = drawFaults(1, 200);
  assert.equal(faults.length, 200);
  assert.deepEqual(new Set(faults), new Set(FAULTS));
});
