import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { test } from "node:test";
import pino from "pino";
import { createLoggedProblems, loggedProblemsHook } from "./logged-problems.ts";

test("warnings and errors are counted by name, with the time and reason of the latest", () => {
  let now = new Date("2027-01-31T12:00:00Z");
  const loggedProblems = createLoggedProblems(() => now);
  const lines: string[] = [];
  const reader = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  const log = pino({ hooks: { logMethod: loggedProblemsHook(loggedProblems) } }, reader);
  log.info({ merchantId: "m" }, "event.created");
  log.warn({ why: "refused" }, "database.unreachable");
  log.child({ requestId: "req_1" }).error({ errorMessage: "no answer", errorCode: "57P01" }, "decide.failed");
  log.error({ errorCode: "53100" }, "decide.failed");
  now = new Date("2027-01-31T12:05:00Z");
  log.warn("roles.missing");
  assert.equal(lines.length, 5);
  assert.deepEqual(loggedProblems.recent(new Date("2027-01-31T12:00:01Z")), [
    { name: "roles.missing", count: 1, last: now, why: "" },
  ]);
  const found = loggedProblems.all().map(({ name, count, why }) => [name, count, why]);
  assert.deepEqual(found, [
    ["database.unreachable", 1, "refused"],
    ["decide.failed", 2, "53100"],
    ["roles.missing", 1, ""],
  ]);
});

test("messages of a library share one name, and so do names beyond a hundred", () => {
  const loggedProblems = createLoggedProblems(() => new Date(0));
  loggedProblems.note("name.a", "");
  loggedProblems.note("Reply was already sent, did you forget to return it?", "why");
  for (let number = 0; number < 200; number++) loggedProblems.note(`name.${"x".repeat(number)}y`, "");
  const all = loggedProblems.all();
  assert.equal(all.length, 100);
  assert.equal(all.find(({ name }) => name === "other")!.count, 103);
});
