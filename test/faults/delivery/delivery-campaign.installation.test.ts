import assert from "node:assert/strict";
import { test } from "node:test";
import { runDeliveryCampaign } from "./delivery-campaign.ts";

test("no event is lost, duplicated or early when its sender is killed, stopped, disconnected, or loses the database", async (t) => {
  const { problems, lines } = await runDeliveryCampaign({
    seed: 7,
    events: 500,
    faults: ["cut", "kill", "postgres"],
    print: (line) => t.diagnostic(line),
  });
  assert.deepEqual(problems, [], lines.join("\n"));
});
