import assert from "node:assert/strict";
import { test } from "node:test";
import { runProcessCampaign } from "./process-campaign.ts";

test("no acknowledged record is lost, duplicated or early when the service and PostgreSQL are killed under load", async (t) => {
  const { problems, lines } = await runProcessCampaign({
    seed: 7,
    kills: 2,
    seconds: 5,
    rate: 20_000,
    print: (line) => t.diagnostic(line),
  });
  assert.deepEqual(problems, [], lines.join("\n"));
});
