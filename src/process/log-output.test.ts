import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { Writable } from "node:stream";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { batchLogLines, createLogOutput } from "./log-output.ts";

/** A reader that reads when it is told to. */
function createSlowReader() {
  const read: string[] = [];
  let next = () => {};
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      read.push(line);
      next = done;
    },
  });
  return { read, stream, readOn: () => next() };
}

test("what is not read waits, up to so many bytes, and is lost beyond", () => {
  const { read, stream, readOn } = createSlowReader();
  const lines = createLogOutput(stream, 30);
  for (const line of ["first line\n", "second line\n", "a line too many\n", "3rd\n"]) lines.write(line);
  for (let turn = 0; turn < 5; turn++) readOn();
  assert.deepEqual(read, ["first line\n", "second line\n", "3rd\n"]);
});

test("the end waits a second for the last lines, not longer", async () => {
  const { stream } = createSlowReader();
  const lines = createLogOutput(stream);
  lines.write("nobody reads this\n");
  const startedMs = performance.now();
  await lines.end();
  assert.ok(stream.destroyed);
  assert.ok(performance.now() - startedMs >= 990);
});

test("a reader that goes away takes the lines with it, and nothing else", async () => {
  const tried: string[] = [];
  const stream = new Writable({
    write(line, _encoding, done) {
      tried.push(String(line));
      done(new Error("EPIPE"));
    },
  });
  const lines = createLogOutput(stream);
  lines.write("one\n");
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(stream.destroyed);
  lines.write("two\n");
  await lines.end();
  assert.deepEqual(tried, ["one\n"]);
});

test("lines that come soon after each other are written at once and in their order, later ones by themselves, and the last ones at the end", async () => {
  const written: string[] = [];
  const sink = {
    write: (line: string) => written.push(line),
    end: async () => {
      written.push("end");
    },
  };
  // Long enough that a busy machine does not stop between two lines for as long.
  const lines = batchLogLines(sink, 400);
  lines.write("1\n");
  await new Promise((resolve) => setImmediate(resolve));
  lines.write("2\n");
  assert.deepEqual(written, []);
  while (written.length === 0) await sleep(1);
  lines.write("3\n");
  lines.flush();
  assert.deepEqual(written, ["1\n2\n", "3\n"]);
  lines.write("4\n");
  await lines.end();
  await sleep(20);
  assert.deepEqual(written, ["1\n2\n", "3\n", "4\n", "end"]);
});

test("lines that wait when the process ends are written, by an error that nobody caught as well", async () => {
  const path = JSON.stringify(new URL("./log-output.ts", import.meta.url).href);
  for (const end of ["process.exit(3)", "throw new Error('x')"]) {
    const code = `import { writeSync } from "node:fs"; import { batchLogLines } from ${path};
      batchLogLines({ write: (line) => writeSync(1, line), end: async () => {} }).write("last\\n"); ${end}`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });
    assert.equal(stdout, "last\n");
  }
});
