// `npm run proof -- mutants`: how many of the mutants that StrykerJS creates in a module its tests kill; modules as arguments, or
// all. A module with long loops is slow. `--sample 0.1 --seed 1` mutates a tenth of its lines, and `--patience 30` gives the
// tests at most 30 seconds per mutant.
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MutantResult } from "@stryker-mutator/api/core";
import { startTestServer, TEST_SERVER_VARIABLE } from "../test-server.ts";
import { MUTANTS_RUN, type MutantsRun } from "./mutant-runner.ts";
import { MUTATED_MODULES } from "./mutated-modules.ts";

const MUTATION_SCORE_MIN = 0.85;
const ROOT = join(import.meta.dirname, "../..");

/** A mutant that behaves exactly like the original. */
interface Equivalent {
  file: string;
  /** The trimmed line, and its replacement. */
  line: string;
  becomes: string;
  why: string;
}
const EQUIVALENTS = JSON.parse(readFileSync(new URL("equivalents.json", import.meta.url), "utf8")) as Equivalent[];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    file: { type: "string", multiple: true },
    patience: { type: "string", default: "10" },
    sample: { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    survivors: { type: "boolean" },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(MUTATED_MODULES);
const unknown = names.find((name) => !Object.hasOwn(MUTATED_MODULES, name));
if (unknown !== undefined) {
  console.error(`there is no room ${unknown}; there are ${Object.keys(MUTATED_MODULES).join(", ")}`);
  process.exit(64);
}

if (!existsSync(join(import.meta.dirname, "node_modules"))) {
  console.error('StrykerJS is missing: "npm ci --prefix test/mutants" installs it.');
  process.exit(1);
}
const { Stryker } = await import("@stryker-mutator/core");
process.chdir(ROOT);
const folder = mkdtempSync(join(tmpdir(), "dunlin-mutants-"));
const server = await startTestServer();
process.env[TEST_SERVER_VARIABLE] = JSON.stringify(server.address);
process.env.NODE_COMPILE_CACHE ??= join(folder, "code");

/** Lines that are mutated together, so that a mutant of a whole block can be among them. */
const SAMPLE_LINES = 15;

/** Returns the parts of a module's files to mutate: about the share given by `--sample`, the same for one seed. */
function sampleParts(patterns: readonly string[]): string[] {
  const files = globSync(
    patterns.filter((pattern) => !pattern.startsWith("!")),
    { exclude: patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1)) },
  ).sort();
  const share = Number(values.sample);
  if (share >= 1) return files;
  return files.flatMap((file) => {
    const count = readFileSync(file, "utf8").split("\n").length;
    const starts = Array.from({ length: Math.ceil(count / SAMPLE_LINES) }, (_, n) => n * SAMPLE_LINES + 1);
    return starts
      .map((start) => `${file}:${start}-${Math.min(count, start + SAMPLE_LINES - 1)}`)
      .filter((part) => sampleRank(`${values.seed} ${part}`) < share);
  });
}
const sampleRank = (key: string) => createHash("sha256").update(key).digest().readUInt32BE() / 2 ** 32;

async function runModule(name: string) {
  const { mutate, tests } = MUTATED_MODULES[name]!;
  const patienceMs = Number(values.patience) * 1_000;
  const run: MutantsRun = { tests, durations: join(folder, `${name}.json`), patienceMs };
  process.env[MUTANTS_RUN] = JSON.stringify(run);
  const results = await new Stryker({
    mutate: sampleParts(values.file ?? mutate),
    testRunner: "hot",
    plugins: ["./test/mutants/mutant-runner.ts"],
    coverageAnalysis: "perTest",
    concurrency: 2,
    reporters: ["progress-append-only"],
    tempDirName: join(folder, "sandbox"),
    ignorePatterns: ["/bench", "/.ci"],
    logLevel: "error" as never,
    tsconfigFile: "none", // it would be rewritten with a part of TypeScript that version 7 does not have
    timeoutMS: 5_000,
    dryRunTimeoutMinutes: 10,
    allowConsoleColors: false,
    disableTypeChecks: false,
  }).runMutationTest();
  printResults(name, results);
}

function printResults(name: string, results: readonly MutantResult[]) {
  const valid = results.filter(({ status }) => !["CompileError", "RuntimeError", "Ignored"].includes(status));
  const broken = results.filter(({ status }) => status === "RuntimeError");
  if (broken.length > 0)
    console.log(`${name}: ${broken.length} mutants could not be run: ${broken[0]!.statusReason?.slice(0, 300)}`);
  const alive = valid.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  const bugs = alive.filter((mutant) => !isEquivalent(mutant));
  const counted = valid.length - (alive.length - bugs.length);
  const score = (counted - bugs.length) / counted;
  console.log(
    `${name}: ${(100 * score).toFixed(1)} % of ${counted} mutants are seen; ${bugs.length} are not, and ${alive.length - bugs.length} are none`,
  );
  if (values.survivors) for (const mutant of bugs) console.log(describeMutant(mutant));
  if (score < MUTATION_SCORE_MIN || broken.length > 0) process.exitCode = 1;
}

const linesOf = new Map<string, string[]>();
function lineOf({ fileName, location }: MutantResult): string {
  const lines = linesOf.get(fileName) ?? readFileSync(fileName, "utf8").split("\n");
  linesOf.set(fileName, lines);
  return lines[location.start.line - 1]!.trim();
}

const isEquivalent = (mutant: MutantResult) =>
  EQUIVALENTS.some(
    ({ file, line, becomes }) =>
      mutant.fileName.endsWith(file) && line === lineOf(mutant) && becomes === mutant.replacement,
  );

function describeMutant(mutant: MutantResult): string {
  const { fileName, location, status, mutatorName, replacement = "" } = mutant;
  const place = `${fileName.slice(ROOT.length + 1)}:${location.start.line}:${location.start.column}`;
  return `${status} ${place} ${mutatorName}\n  ${lineOf(mutant)}\n  becomes ${replacement.replaceAll(/\s+/g, " ").slice(0, 200)}`;
}

try {
  for (const name of names) await runModule(name);
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
