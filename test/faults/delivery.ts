// `npm run torture -- delivery`: kills, stops and disconnects delivering processes and PostgreSQL while receivers fail, then
// compares the records of all sides. With --statements it simulates one process on a real database, which dies at each of its
// statements in turn. With --bugs it does the same to copies of the source with one bug each, and must catch every bug.
import { parseArgs } from "node:util";
import { runDeliveryCampaign } from "./delivery/delivery-campaign.ts";
import { drawFaults, FAULTS, type Fault } from "./delivery/delivery-faults.ts";
import { runPlantedBugs } from "./delivery/planted-bug-run.ts";
import { summarizeProblems } from "./delivery/problem-summary.ts";
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

function failUsage(says: string): never {
  console.error(says);
  process.exit(64);
}

function numberOption(name: "seed" | "seeds" | "events", fallback: number) {
  const value = values[name] === undefined ? fallback : Number(values[name]);
  return Number.isInteger(value) && value > 0 ? value : failUsage(`--${name} takes a whole number`);
}

/** Parses a number of faults, or a list in order: `kill,cut,postgres`. */
function parseFaults(seed: number): Fault[] {
  const given = values.faults ?? (values.quick ? "12" : "100");
  if (/^\d+$/.test(given)) return drawFaults(seed, Number(given));
  return given
    .split(",")
    .map((name) => FAULTS.find((fault) => fault === name) ?? failUsage(`there is no fault "${name}"`));
}

const seed = numberOption("seed", 1 + Math.floor(Math.random() * 1_000_000));
if (values.statements)
  process.exit(
    await runStatementCampaign(
      seed,
      numberOption("seeds", values.quick ? 3 : 10),
      values.quick ? 0.1 : 1,
      values.json === true,
    ),
  );
if (values.bugs) process.exit((await runPlantedBugs(positionals, seed, (line) => console.log(line))) > 0 ? 1 : 0);
const { problems, lines } = await runDeliveryCampaign({
  seed,
  events: numberOption("events", values.quick ? 5_000 : 100_000),
  faults: parseFaults(seed),
  print: (line) => (values.json ? undefined : console.log(line)),
});
if (values.json) console.log(JSON.stringify(summarizeProblems(problems)));
else for (const line of lines) console.log(line);
process.exit(problems.length > 0 ? 1 : 0);
