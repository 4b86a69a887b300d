import assert from "node:assert/strict";
import { test } from "node:test";
import { runSyncCampaign } from "./sync-campaign.ts";

test("a copy that is kept by sync, and killed three times under way, equals the original", async (t) => {
  const { executed, problems } = await runSyncCampaign({ seed: 3, kills: 3, perSecond: 300 });
  t.diagnostic(`${executed} actions`);
  assert.deepEqual(problems, []);
  assert.ok(executed > 300, `${executed}`);
});
