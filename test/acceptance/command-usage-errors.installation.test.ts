import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createProgram } from "../dunlin-program.ts";
import { findFreePort } from "../free-port.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-calls-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const { run: dunlin } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));

test("a wrong command, option or argument prints the error and the usage, with exit code 2", async () => {
  const typo = await dunlin(["merchnt", "create"]);
  assert.equal(typo.code, 2);
  assert.match(typo.err, /Did you mean merchant create\?/);
  const option = await dunlin(["merchant", "create", "--nam", "x"]);
  assert.equal(option.code, 2);
  assert.match(option.err, /--nam/);
  assert.match(option.err, /Did you mean --name\?\nUsage: npx dunlin merchant create .*\n.*--help" shows more\.\n$/);
  // Node adds advice about its own syntax, which is dropped.
  assert.match(
    (await dunlin(["shadow", "--from", "--json"])).err,
    /--from needs a value\. .*\nUsage: npx dunlin shadow/,
  );
  assert.match((await dunlin(["--version"])).out, /^\d+\.\d+\.\d+\n$/);
  const help = await dunlin(["--help"]);
  assert.equal(help.code, 0);
  for (const name of ["serve", "demo", "doctor", "merchant create", "key create", "delivery replay"])
    assert.ok(help.out.includes(name));
  for (const words of ["key create --help", "help key create"])
    assert.match((await dunlin(words.split(" "))).out, /^Examples\n {2}npx dunlin key create/m);
});

test("all wrong settings are reported at once with exit code 78", async () => {
  const { code, err } = await dunlin(["serve"], {
    DUNLIN_TLS: "maybe",
    DUNLIN_WEBHOOK_ALLOW: "10.0.0.0",
    DUNLIN_PORT: "0",
  });
  assert.deepEqual([code, err.includes("config: 3 problems")], [78, true]);
  for (const name of ["DUNLIN_TLS", "DUNLIN_WEBHOOK_ALLOW", "DUNLIN_PORT"]) assert.ok(err.includes(name));
  const DATABASE_URL = "postgres://dunlin:hunter2@127.0.0.1:1/dunlin";
  const unreachable = await dunlin(["serve", "--wait", "0"], {
    DATABASE_URL,
    DUNLIN_PORT: String(await findFreePort()),
  });
  assert.equal(unreachable.code, 69);
  assert.match(unreachable.err, /DATABASE_URL.*cannot connect to 127\.0\.0\.1:1/);
  assert.ok(!unreachable.err.includes("hunter2"));
  const doctor = await dunlin(["doctor"], { DATABASE_URL, DUNLIN_SECRET_KEY: randomBytes(32).toString("base64") });
  assert.match(doctor.out, /^fail {2}database .*127\.0\.0\.1:1: .*Start PostgreSQL there, or set DATABASE_URL/m);
});

test("a command that finds no database reports where it looked, and creates nothing there", async () => {
  const nowhere = join(folder, "nowhere");
  for (const words of [["merchant", "list"], ["explain", "inv_1"], ["invite"]]) {
    const { code, err } = await dunlin(words, { DUNLIN_DATA: nowhere });
    assert.deepEqual([code, err.includes(`no database in ${nowhere}`)], [1, true], err);
  }
  const other = await dunlin(["merchant", "list"], { DUNLIN_DATA: nowhere, DATABASE_URL: "postgres://127.0.0.1:1/x" });
  assert.match(other.err, /There is no secret\.key in /);
  assert.ok(!existsSync(nowhere));
});
