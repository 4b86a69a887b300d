import assert from "node:assert/strict";
import { test } from "node:test";
import { runStripeCampaign } from "./stripe-campaign.ts";

test("no invoice is charged twice, no payment stays unknown and no invoice loses its retries when connector, service and account die", async (t) => {
  const { problems, lines } = await runStripeCampaign({
    ...{ seed: 11, customers: 40, days: 20, windowDays: 7, seconds: 8, kills: 3, perSecond: 300 },
    print: (line) => t.diagnostic(line),
  });
  assert.deepEqual(problems, [], lines.join("\n"));
});
