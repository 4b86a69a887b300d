// `npm run torture -- delivery`: kills, stops and disconnects delivering processes and PostgreSQL while receivers fail, then
// compares the records of all sides. With --statements it simulates one process on a real database, which dies at each of its
// statements in turn. With --bugs it does the same to copies of the source with one bug each, and must catch every bug.
import { parseArgs } from "node:util";
import { runDeliveryCampaign } from "./delivery/delivery-campaign.ts";
import { drawFaults, FAULTS } from "./delivery/delivery-faults.ts";
import { runPlantedBugs } from "./delivery/planted-bug-run.ts";
import { endWith, parseCount, parseFaults, parseSeed } from "./harness/command-line.ts";
import { summarizeProblems } from "./harness/problems.ts";
import { runStatementCampaign } from "./statement-crashes/statement-campaign.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bugs: { type: "boolean" },
    seed: { type: "string" },
    events: { type: "string" },
    faults: { type: "string" },
    statements: { type: "boolean" },
    seeds: { type: "string" },
    quick: { type: "boolean" },
    json: { type: "boolean" },
  },
});
const { quick = false, json = false } = values;
const seed = parseSeed(values.seed);
if (values.statements) {
  const seeds = parseCount("seeds", values.seeds, quick ? 3 : 10, 1);
  process.exit(await runStatementCampaign(seed, seeds, quick ? 0.1 : 1, json));
}
if (values.bugs) process.exit((await runPlantedBugs(positionals, seed, (line) => console.log(line))) > 0 ? 1 : 0);
const { problems, lines } = await runDeliveryCampaign({
  seed,
  events: parseCount("events", values.events, quick ? 5_000 : 100_000, 1),
  faults: parseFaults(values.faults ?? (quick ? "12" : "100"), FAULTS, (count) => drawFaults(seed, count)),
  print: (line) => (json ? undefined : console.log(line)),
});
endWith({ problems, lines: json ? [JSON.stringify(summarizeProblems(problems))] : lines });
