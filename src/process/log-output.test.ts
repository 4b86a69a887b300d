import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { Writable } from "node:stream";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { batchLogLines, createLogOutput } from "./log-output.ts";

/** A reader that reads only on request. */
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

test("unread lines are buffered up to a limit and dropped beyond it", () => {
  const { read, stream, readOn } = createSlowReader();
  const lines = createLogOutput(stream, 30);
  for (const line of ["first line\n", "second line\n", "a line too many\n", "3rd\n"]) lines.write(line);
  for (let turn = 0; turn < 5; turn++) readOn();
  assert.deepEqual(read, ["first line\n", "second line\n", "3rd\n"]);
});

test("the end waits at most a second for the last lines", async () => {
  const { stream } = createSlowReader();
  const lines = createLogOutput(stream);
  lines.write("unread\n");
  const startedMs = performance.now();
  await lines.end();
  assert.ok(stream.destroyed);
  assert.ok(performance.now() - startedMs >= 990);
});

test("lines are dropped without an error when the reader is gone", async () => {
  const attempted: string[] = [];
  const stream = new Writable({
    write(line, _encoding, done) {
      attempted.push(String(line));
      done(new Error("EPIPE"));
    },
  });
  const lines = createLogOutput(stream);
  lines.write("one\n");
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(stream.destroyed);
  lines.write("two\n");
  await lines.end();
  assert.deepEqual(attempted, ["one\n"]);
});

test("lines in quick succession are written together and in order, and the last ones at the end", async () => {
  const written: string[] = [];
  const sink = {
    write: (line: string) => written.push(line),
    end: async () => {
      written.push("end");
    },
  };
  // Long enough that a busy machine does not pause longer between two lines.
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

test("buffered lines are written when the process exits, also after an uncaught error", async () => {
  const path = JSON.stringify(new URL("./log-output.ts", import.meta.url).href);
  for (const end of ["process.exit(3)", "throw new Error('x')"]) {
    const code = `import { writeSync } from "node:fs"; import { batchLogLines } from ${path};
      batchLogLines({ write: (line) => writeSync(1, line), end: async () => {} }).write("last\\n"); ${end}`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });
    assert.equal(stdout, "last\n");
  }
});
