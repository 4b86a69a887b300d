// `npm run torture -- process`: kills the service repeatedly, in a separate process under load, then compares the records of all
// sides.
import { parseArgs } from "node:util";
import { runProcessCampaign } from "./process/process-campaign.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    kills: { type: "string" },
    seconds: { type: "string" },
    rate: { type: "string" },
  },
});
const numberOption = (name: keyof typeof values, fallback: number) => {
  const value = values[name] === undefined ? fallback : Number(values[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  console.error(`--${name} takes a whole number`);
  process.exit(64);
};
const { problems, lines } = await runProcessCampaign({
  seed: numberOption("seed", Math.floor(Math.random() * 1_000_000)),
  kills: numberOption("kills", 10),
  seconds: numberOption("seconds", 200),
  rate: numberOption("rate", 5_000),
  print: (line) => console.log(line),
});
for (const line of lines) console.log(line);
process.exit(problems.length > 0 ? 1 : 0);
