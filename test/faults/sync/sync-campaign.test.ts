import assert from "node:assert/strict";
import { test } from "node:test";
import { runSyncCampaign } from "./sync-campaign.ts";

test("a copy kept by sync equals the original when its process is killed three times", async (t) => {
  const print = (line: string) => t.diagnostic(line);
  const { problems, lines } = await runSyncCampaign({ seed: 3, kills: 3, perSecond: 300, print });
  assert.deepEqual(problems, [], lines.join("\n"));
});
