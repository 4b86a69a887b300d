// `npm run proof -- fuzz [--requests N --seed S]`: sends hostile requests to the running service.
import { parseArgs } from "node:util";
import { fuzzService } from "./fuzz/fuzz-service.ts";
import { measureSlowestBodies } from "./fuzz/slowest-bodies.ts";
import { exitWhenInterrupted } from "./test-server.ts";

const { values } = parseArgs({ options: { requests: { type: "string" }, seed: { type: "string" } } });
const number = (name: keyof typeof values, fallback: number) => {
  const value = values[name] === undefined ? fallback : Number(values[name]);
  if (Number.isInteger(value) && value > 0) return value;
  console.error(`--${name} takes a whole number`);
  process.exit(64);
};
exitWhenInterrupted(); // the service ends with it
const seed = number("seed", Math.floor(Math.random() * 1_000_000) + 1);
const requests = number("requests", 1_000_000);

/** Time of the event loop for a body of a megabyte. */
const BODY_MS_MAX = 50;
console.log("worst bodies                       kB   CPU ms");
const bodies = measureSlowestBodies();
for (const { name, bytes, ms } of bodies.slice(0, 8))
  console.log(`${name.padEnd(30)} ${String(Math.round(bytes / 1000)).padStart(6)}   ${ms.toFixed(1).padStart(6)}`);

console.log(`\nfuzz: ${requests} requests, seed ${seed}`);
const result = await fuzzService({ requests, seed, bodies: 6_000, print: (line) => console.log(line) });
for (const { name, ms } of bodies) if (ms > BODY_MS_MAX) result.problems.push(`${name} takes ${ms.toFixed(1)} ms`);
const sorted = (counts: Map<unknown, number>) =>
  [...counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${what} ${count}`);
console.log(`answers: ${sorted(result.answers).join(", ")}`);
console.log(`refused by rules that OpenAPI can't express: ${sorted(result.rules).join(", ")}`);
console.log(`raw sockets: ${result.sockets}; memory grew by ${result.growthMiB} MiB; ${Math.round(result.seconds)} s`);
for (const problem of result.problems) console.log(`BROKEN ${problem}`);
console.log(result.problems.length === 0 ? "all held" : `${result.problems.length} problems, with --seed ${seed}`);
process.exit(result.problems.length > 0 ? 1 : 0);
