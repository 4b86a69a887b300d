// `npm run torture -- process`: kills the service repeatedly, in a separate process under load, then compares the records of all
// sides.
import { parseArgs } from "node:util";
import { endWith, parseCount, parseSeed } from "./harness/command-line.ts";
import { runProcessCampaign } from "./process/process-campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    kills: { type: "string" },
    seconds: { type: "string" },
    rate: { type: "string" },
  },
});
endWith(
  await runProcessCampaign({
    seed: parseSeed(values.seed),
    kills: parseCount("kills", values.kills, 10),
    seconds: parseCount("seconds", values.seconds, 200),
    rate: parseCount("rate", values.rate, 5_000, 1),
    print: (line) => console.log(line),
  }),
);
