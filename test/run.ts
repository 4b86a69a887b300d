// `npm test`: runs all test files, or those given as arguments, against one shared server. Files `x.world.test.ts` and
// `x.installation.test.ts` take longer. They run only with --proof world or --proof installation (worlds.ts, installations.ts).
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { startTestServer, TEST_SERVER_VARIABLE } from "./test-server.ts";

const ROOT = join(import.meta.dirname, "..");
const ALL_TESTS = [
  "src/**/*.test.ts",
  "sdk/**/*.test.ts",
  "simulator/**/*.test.ts",
  "connectors/**/*.test.ts",
  "lab/**/*.test.ts",
  "bench/**/*.test.ts",
  "test/**/*.test.ts",
];
const DURATIONS_CACHE = join(ROOT, "node_modules", ".cache", "tests");
// Test files wait about as long as they compute. On two cores, five at once keep both busy.
const CONCURRENCY = 5;
/** Linux's folder in memory. In containers it often has only 64 MB; the tests need 0.5 GB. */
const MEMORY_FOLDER = "/dev/shm";
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;
/** For one test, one hook and one process of tests, which then fail by name. The longest process takes 2 minutes. */
const TEST_TIMEOUT_MS = 10 * 60_000;
/** For all of `npm test`. A process that does not end although its tests have ended is abandoned then, and named. */
const RUN_TIMEOUT_MS = 20 * 60_000;
/** The most short files that share a process. */
const FILES_PER_PROCESS_MAX = 20;
/** Smaller modules share a process with others. */
const OWN_PROCESS_FILES_MIN = 6;

const { values, positionals: patterns } = parseArgs({
  options: { "test-name-pattern": { type: "string", multiple: true }, proof: { type: "string" } },
  allowPositionals: true,
});
const cwd = patterns.length > 0 ? process.cwd() : ROOT;
const proofOf = (file: string) => /\.(world|installation)\.test\.ts$/.exec(file)?.[1];
const files =
  patterns.length > 0
    ? globSync(patterns, { cwd })
    : globSync(ALL_TESTS, { cwd }).filter((file) => proofOf(file) === values.proof);
// Files that start whole services come first, because they take longest and would delay the end.
/** It changes rules, which are global to a process. */
const RULES_CHANGING_TEST = "src/engine/rules/rule-overrides.test.ts";
const isLongTest = (file: string) => /^test\//.test(file);
const filesInProcess = files
  .filter((file) => !file.includes("node_modules"))
  .sort((a, b) => Number(isLongTest(b)) - Number(isLongTest(a)) || (a < b ? -1 : 1));
if (filesInProcess.length === 0) {
  console.error(`no test file matches ${patterns.join(" ") || ALL_TESTS.join(" ")}`);
  process.exit(1);
}

// Ctrl-C reaches the test files directly; this process waits until they have ended, and stops the server.
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());
if (!values.proof) setTimeout(() => interrupted.abort(), RUN_TIMEOUT_MS).unref();

// The checks need little memory and no server, so they run beside the tests.
const checks = patterns.length === 0 && !values.proof ? runChecks() : Promise.resolve(true);
// Copying a database takes 20 ms in memory, and up to 400 ms on a disk.
if (process.env.TMPDIR === undefined && hasMemoryFolder()) process.env.TMPDIR = MEMORY_FOLDER;
const server = await startTestServer();
process.env[TEST_SERVER_VARIABLE] = JSON.stringify(server.address);
// All processes load much the same modules, so types are stripped and code is compiled once.
process.env.NODE_COMPILE_CACHE ??= join(DURATIONS_CACHE, "code");
let exitCode = 0;
try {
  const tests = run({
    files: patterns.length > 0 ? filesInProcess.map((file) => resolve(cwd, file)) : groupFiles(filesInProcess),
    concurrency: CONCURRENCY,
    testNamePatterns: values["test-name-pattern"],
    ...(values.proof ? {} : { timeout: TEST_TIMEOUT_MS }),
    signal: interrupted.signal,
  });
  tests.on("test:fail", () => {
    exitCode = 1;
  });
  await pipeline(tests, new spec(), process.stdout, { end: false });
} finally {
  await server.stop();
}
if (!(await checks)) exitCode = 1;
process.exit(exitCode);

/** `npm run check`, which prints what it finds. Returns whether all is well. */
async function runChecks(): Promise<boolean> {
  const child = spawn(process.execPath, [join(ROOT, "test/check.ts")], { cwd: ROOT, stdio: "inherit" });
  const [code] = (await once(child, "close")) as [number | null];
  return code === 0;
}

function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    return bavail * bsize >= MEMORY_BYTES_MIN;
  } catch {
    return false;
  }
}

/**
 * Short test files of a module share a process, because starting one takes 0.4 s of CPU, and those of the interface
 * (test/contract) also share their service. Small modules share one, too. Each file is a suite, which keeps its hooks separate.
 * Long files stay alone, and so does one that changes rules. Small groups come last, so that the cores are busy to the end.
 */
function groupFiles(paths: readonly string[]): string[] {
  const groups = join(DURATIONS_CACHE, "groups");
  rmSync(groups, { recursive: true, force: true });
  mkdirSync(groups, { recursive: true });
  const isAlone = (path: string) =>
    path === RULES_CHANGING_TEST || (isLongTest(path) && !/^test\/contract\/0[1345689]-/.test(path));
  const alone = paths.filter(isAlone).map((path) => join(ROOT, path));
  const modules = Map.groupBy(
    paths.filter((path) => !isAlone(path)),
    (path) => dirname(path).split("/").slice(0, 2).join("-"),
  );
  // Connectors and the interface start services, which other tests would wait for.
  const isSmall = (name: string, files: readonly string[]) =>
    files.length < OWN_PROCESS_FILES_MIN && !/^(connectors|test)-/.test(name);
  const small = [...modules].filter(([name, files]) => isSmall(name, files));
  const rooms: [string, string[]][] = [
    ...[...modules].filter(([name, files]) => !isSmall(name, files)),
    ["small-modules", small.flatMap(([, files]) => files)],
  ];
  const shared = rooms.flatMap(([room, files]) => {
    const processes = Math.ceil(files.length / FILES_PER_PROCESS_MAX);
    const size = Math.ceil(files.length / processes);
    return Array.from({ length: processes }, (_, index) => ({
      path: join(groups, `${room}-${index + 1}.js`),
      files: files.slice(index * size, (index + 1) * size),
    }));
  });
  for (const { path, files } of shared) {
    const suites = files.map((file) => {
      const url = pathToFileURL(join(ROOT, file)).href;
      return `suite(${JSON.stringify(file)}, async () => void (await import(${JSON.stringify(url)})));\n`;
    });
    writeFileSync(path, `import { suite } from "node:test";\n${suites.join("")}`);
  }
  return [...alone, ...shared.sort((a, b) => b.files.length - a.files.length).map(({ path }) => path)];
}
