// `npm run torture -- sync`: a copy kept by the SDK's sync, killed repeatedly while the service executes actions.
import { parseArgs } from "node:util";
import { endWith, parseCount, parseSeed } from "./harness/command-line.ts";
import { runSyncCampaign } from "./sync/sync-campaign.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, kills: { type: "string" }, "per-second": { type: "string" } },
});
endWith(
  await runSyncCampaign({
    seed: parseSeed(values.seed),
    kills: parseCount("kills", values.kills, 100),
    perSecond: parseCount("per-second", values["per-second"], 500, 1),
    print: (line) => console.log(line),
  }),
);
