// `npm run torture -- sync`: a copy kept by the SDK's sync, killed repeatedly while the service executes actions.
import { parseArgs } from "node:util";
import { runSyncCampaign } from "./sync/sync-campaign.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, kills: { type: "string" }, "per-second": { type: "string" } },
});
const [seed, kills, perSecond] = [values.seed ?? "1", values.kills ?? "100", values["per-second"] ?? "500"].map(Number);
if (![seed, kills, perSecond].every((value) => Number.isInteger(value) && value! >= 0)) {
  console.error("--seed, --kills and --per-second take whole numbers");
  process.exit(64);
}
const { executed, reached, problems } = await runSyncCampaign({ seed: seed!, kills: kills!, perSecond: perSecond! });
console.log(`${executed} actions executed, ${Math.round(reached)} a second; the copier was killed ${kills} times`);
for (const problem of problems) console.log(`WRONG: ${problem}`);
if (problems.length === 0) console.log("The copy equals the original: every action once, in order, field by field.");
process.exitCode = problems.length > 0 ? 1 : 0;
