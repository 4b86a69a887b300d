// `npm run torture -- stripe`: a billing account with customers on a fast clock, the connector and the service as processes, and kills
// of each; afterwards every charge, every paid invoice and every open one is compared on all sides.
import { parseArgs } from "node:util";
import { endWith, parseCount, parseSeed } from "./harness/command-line.ts";
import { runStripeCampaign } from "./stripe/stripe-campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    customers: { type: "string" },
    days: { type: "string" },
    seconds: { type: "string" },
    kills: { type: "string" },
    "window-days": { type: "string" },
    "per-second": { type: "string" },
  },
});
endWith(
  await runStripeCampaign({
    seed: parseSeed(values.seed),
    customers: parseCount("customers", values.customers, 2_000, 1),
    days: parseCount("days", values.days, 365, 1),
    seconds: parseCount("seconds", values.seconds, 600, 1),
    kills: parseCount("kills", values.kills, 100),
    windowDays: parseCount("window-days", values["window-days"], 28, 1),
    perSecond: parseCount("per-second", values["per-second"], 150, 1),
    print: (line) => console.log(line),
  }),
);
