import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import type { Database } from "../postgres/database.ts";
import { CommandFailure, type OptionValues, UsageError } from "./command.ts";
import { loadAllCommands } from "./commands.ts";
import { createTestContext } from "./context.fixture.ts";
import { readSecretOption } from "./secret-options.ts";

const NO_DATABASE = {} as Database;

function readOption(values: OptionValues, name: string, input = "", isSecret?: (value: string) => boolean) {
  const { context, lines } = createTestContext(NO_DATABASE);
  const secret = readSecretOption(
    { ...context, input: () => Readable.from([Buffer.from(input)]) },
    values,
    name,
    isSecret,
  );
  return { secret, lines };
}

function fileWith(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-secret-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "secret");
  writeFileSync(path, text);
  return path;
}

test("a secret is read from a file or standard input without its final line break", async (t) => {
  for (const text of ["tø ken", "tø ken\n", "tø ken\r\n"]) {
    const { secret, lines } = readOption({ "bearer-file": fileWith(t, text) }, "bearer");
    assert.deepEqual([await secret, lines], ["tø ken", []]);
    assert.equal(await readOption({ "bearer-file": "-" }, "bearer", text).secret, "tø ken");
  }
  assert.equal(await readOption({}, "bearer").secret, undefined);
});

test("a secret on the command line works and prints a hint to the safe option", async () => {
  const { secret, lines } = readOption({ bearer: "T" }, "bearer");
  assert.equal(await secret, "T");
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /^Note: the process list shows --bearer .* --bearer-file FILE does not/);
  const open = readOption({ to: "postgres://host/db" }, "to", "", () => false);
  assert.deepEqual([await open.secret, open.lines], ["postgres://host/db", []]);
});

test("a secret is refused when it has two sources, shares standard input, or its file is empty, huge or missing", async (t) => {
  const empty = fileWith(t, "\n");
  const cases: [OptionValues, typeof UsageError | typeof CommandFailure, RegExp][] = [
    [{ bearer: "T", "bearer-file": "f" }, UsageError, /^Give --bearer or --bearer-file, not both/],
    [{ "bearer-file": "-", "secret-file": "-" }, UsageError, /^Only one option can read standard input/],
    [{ "bearer-file": empty }, CommandFailure, /is empty; --bearer-file/],
    [{ "bearer-file": fileWith(t, "x".repeat(20_000)) }, CommandFailure, /more than 16384 bytes/],
    [{ "bearer-file": `${empty}.none` }, CommandFailure, /^Cannot read --bearer-file: ENOENT/],
  ];
  for (const [values, kind, says] of cases)
    await assert.rejects(readOption(values, "bearer").secret, (error: Error) => {
      assert.ok(error instanceof kind);
      assert.match(error.message, says);
      return true;
    });
});

test("every command with a secret option also reads the secret from a file", async () => {
  const found = (await loadAllCommands()).flatMap(({ name, options }) =>
    Object.keys(options)
      .filter(
        (option) => /^(bearer|basic|secret|password|token|credential|key)$/.test(option) || name + option === "moveto",
      )
      .map((option) => [`${name} --${option}`, `${option}-file` in options]),
  );
  assert.deepEqual(found.sort(), [
    ["merchant create --basic", true],
    ["merchant create --bearer", true],
    ["merchant set --basic", true],
    ["merchant set --bearer", true],
    ["move --to", true],
    ["trigger --basic", true],
    ["trigger --bearer", true],
    ["trigger --secret", true],
  ]);
});
