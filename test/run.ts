// `npm test`: runs the test files, all or those given as arguments, against one server that they share.
import { globSync } from "node:fs";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { startTestServer, TEST_SERVER } from "./server.ts";

const ROOT = join(import.meta.dirname, "..");
const ALL = ["src/**/*.test.ts", "sdk/**/*.test.ts", "simulator/**/*.test.ts", "test/**/*.test.ts"];
// Test files wait about as long as they compute: on two cores, two at once leave a third of the time idle.
const CONCURRENCY = 3;

const { values, positionals: patterns } = parseArgs({
  options: { "test-name-pattern": { type: "string", multiple: true } },
  allowPositionals: true,
});
const cwd = patterns.length > 0 ? process.cwd() : ROOT;
const files = globSync(patterns.length > 0 ? patterns : ALL, { cwd });
// Those of whole services first: they take longest, and the end should not wait for one of them.
const isLong = (file: string) => /^(test|simulator)\//.test(file);
const inside = files
  .filter((file) => !file.includes("node_modules"))
  .sort((a, b) => Number(isLong(b)) - Number(isLong(a)) || (a < b ? -1 : 1));
if (inside.length === 0) {
  console.error(`no test file matches ${patterns.join(" ") || ALL.join(" ")}`);
  process.exit(1);
}

// Ctrl-C reaches the test files by itself; we stay until they have ended, and stop the server.
const interrupted = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interrupted.abort());

const server = await startTestServer();
process.env[TEST_SERVER] = JSON.stringify(server.address);
// 160 processes load much the same modules: types are stripped, and code is compiled, once.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, "node_modules", ".cache", "tests");
let exitCode = 0;
try {
  const tests = run({
    files: inside.map((file) => resolve(cwd, file)),
    concurrency: CONCURRENCY,
    testNamePatterns: values["test-name-pattern"],
    signal: interrupted.signal,
  });
  tests.on("test:fail", () => {
    exitCode = 1;
  });
  await pipeline(tests, new spec(), process.stdout, { end: false });
} finally {
  await server.stop();
}
process.exit(exitCode);
