// `npm run torture -- operations`: exposes three processes and their PostgreSQL to operational faults one after the other, then
// compares the records of all sides.
import { parseArgs } from "node:util";
import { drawFaults, FAULTS, type Fault } from "./operations/operation-faults.ts";
import { runOperationsCampaign } from "./operations/operations-campaign.ts";

const { values } = parseArgs({ options: { seed: { type: "string" }, faults: { type: "string" } } });

function failUsage(says: string): never {
  console.error(says);
  process.exit(64);
}

/** Parses a number of faults, or a list in order: `disk full,network cut`. */
function parseFaults(seed: number): Fault[] {
  const given = values.faults ?? "200";
  if (/^\d+$/.test(given)) return drawFaults(seed, Number(given));
  return given
    .split(",")
    .map(
      (name) =>
        FAULTS.find((fault) => fault === name) ?? failUsage(`there is no fault "${name}": ${FAULTS.join(", ")}`),
    );
}

const seed = values.seed === undefined ? 1 + Math.floor(Math.random() * 1_000_000) : Number(values.seed);
if (!Number.isInteger(seed)) failUsage("--seed takes a whole number");
const { problems, lines } = await runOperationsCampaign({
  seed,
  faults: parseFaults(seed),
  print: (line) => console.log(line),
});
for (const line of lines) console.log(line);
console.log(problems.length === 0 ? "No promise was broken." : `${problems.length} promises were BROKEN.`);
process.exit(problems.length > 0 ? 1 : 0);
