// `npm run torture:delivery`: delivering processes and PostgreSQL killed, stopped and cut off from each other while
// receivers fail; then everybody's books are compared.
// With --statements one process is simulated on a real database, and dies at each of its statements in turn.
// With --bugs the same is done to copies of the source that have a bug each: every one must be caught.
import { parseArgs } from "node:util";
import { statements } from "./statement-crashes/statements.ts";
import { briefly } from "./torture-delivery/briefly.ts";
import { plantBugs } from "./torture-delivery/bugs.ts";
import { FAULTS, type Fault, faultsOf } from "./torture-delivery/faults.ts";
import { torture } from "./torture-delivery/torture.ts";

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

function refuse(says: string): never {
  console.error(says);
  process.exit(64);
}

function number(name: "seed" | "seeds" | "events", fallback: number) {
  const value = values[name] === undefined ? fallback : Number(values[name]);
  return Number.isInteger(value) && value > 0 ? value : refuse(`--${name} takes a whole number`);
}

/** A number of faults, or which ones, in order: `kill,cut,postgres`. */
function faults(seed: number): Fault[] {
  const given = values.faults ?? (values.quick ? "12" : "100");
  if (/^\d+$/.test(given)) return faultsOf(seed, Number(given));
  return given
    .split(",")
    .map((name) => FAULTS.find((fault) => fault === name) ?? refuse(`there is no fault "${name}"`));
}

const seed = number("seed", 1 + Math.floor(Math.random() * 1_000_000));
if (values.statements)
  process.exit(
    await statements(seed, number("seeds", values.quick ? 3 : 10), values.quick ? 0.1 : 1, values.json === true),
  );
if (values.bugs) process.exit((await plantBugs(positionals, seed, (line) => console.log(line))) > 0 ? 1 : 0);
const { problems, lines } = await torture({
  seed,
  events: number("events", values.quick ? 5_000 : 100_000),
  faults: faults(seed),
  print: (line) => (values.json ? undefined : console.log(line)),
});
if (values.json) console.log(JSON.stringify(briefly(problems)));
else for (const line of lines) console.log(line);
process.exit(problems.length > 0 ? 1 : 0);
