// `npm run torture -- operations`: exposes three processes and their PostgreSQL to operational faults one after the other, then
// compares the records of all sides.
import { parseArgs } from "node:util";
import { endWith, parseFaults, parseSeed } from "./harness/command-line.ts";
import { drawFaults, FAULTS } from "./operations/operation-faults.ts";
import { runOperationsCampaign } from "./operations/operations-campaign.ts";

const { values } = parseArgs({ options: { seed: { type: "string" }, faults: { type: "string" } } });
const seed = parseSeed(values.seed);
endWith(
  await runOperationsCampaign({
    seed,
    faults: parseFaults(values.faults ?? "200", FAULTS, (count) => drawFaults(seed, count)),
    print: (line) => console.log(line),
  }),
);
