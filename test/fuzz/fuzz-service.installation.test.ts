import assert from "node:assert/strict";
import { test } from "node:test";
import { fuzzService } from "./fuzz-service.ts";
import { measureSlowestBodies } from "./slowest-bodies.ts";

test("hostile requests get the documented answers, never a 5xx, and leave the service unchanged", async (t) => {
  const { problems, answers, rules } = await fuzzService({
    requests: 900,
    seed: 11,
    bodies: 100,
    print: (line) => t.diagnostic(line),
  });
  assert.deepEqual(problems, []);
  for (const status of [200, 400, 401]) assert.ok(answers.get(status)! > 25, `${status}: ${answers.get(status)}`);
  assert.ok(rules.size >= 6, [...rules.keys()].join());
});

// The command `fuzz` allows 50. Beside other test files the same work takes a few times as long.
const BODY_MS_MAX = 200;

test("no body of a megabyte blocks the event loop", () => {
  for (const { name, ms } of measureSlowestBodies(1)) assert.ok(ms < BODY_MS_MAX, `${name}: ${ms} ms`);
});
