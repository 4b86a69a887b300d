// `npm test`: runs the test files, all or those given as arguments, against one server that they share.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { join } from "node:path";
import { startTestServer, TEST_SERVER } from "./server.ts";

const ROOT = join(import.meta.dirname, "..");
const ALL = ["src/**/*.test.ts", "sdk/**/*.test.ts", "simulator/**/*.test.ts", "test/**/*.test.ts"];
// Test files wait about as long as they compute: on two cores, two at once leave a third of the time idle.
const CONCURRENCY = 3;

const given = process.argv.slice(2);
const flags = given.filter((word) => word.startsWith("-"));
const patterns = given.filter((word) => !word.startsWith("-"));
const cwd = patterns.length > 0 ? process.cwd() : ROOT;
const files = globSync(patterns.length > 0 ? patterns : ALL, { cwd });
// Those of whole services first: they take longest, and the end should not wait for one of them.
const isLong = (file: string) =>
  /\btest\/(simulation|torture|torture-delivery|torture-sync|contract|statement-crashes)\//.test(file);
const inside = files
  .filter((file) => !file.includes("node_modules"))
  .sort((a, b) => Number(isLong(b)) - Number(isLong(a)) || (a < b ? -1 : 1));
if (inside.length === 0) {
  console.error(`no test file matches ${patterns.join(" ") || ALL.join(" ")}`);
  process.exit(1);
}

// Ctrl-C reaches the children by itself; we stay until they have ended, and stop the server.
let child: ChildProcess | undefined;
let interrupted = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    interrupted = true;
    child?.kill(signal);
  });
}

const server = await startTestServer();
let exitCode = 1;
try {
  if (!interrupted) {
    const reporting = ["--test", "--test-reporter=spec", `--test-concurrency=${CONCURRENCY}`];
    child = spawn(process.execPath, [...reporting, ...flags, ...inside], {
      cwd,
      stdio: "inherit",
      env: { ...process.env, [TEST_SERVER]: JSON.stringify(server.address) },
    });
    const [code] = (await once(child, "exit")) as [number | null];
    exitCode = code ?? 1;
  }
} finally {
  await server.stop();
}
process.exit(exitCode);
