import assert from "node:assert/strict";
import { test } from "node:test";
import { createRateLimit } from "./rate-limit.ts";

test("a burst passes, then exactly as many requests as flow in", () => {
  let now = 1_000_000;
  const take = createRateLimit(() => now);
  const passed = (count: number) =>
    Array.from({ length: count }, () => take("key", 100, 100)).filter(({ allowed }) => allowed).length;
  assert.equal(passed(150), 100);
  now += 10;
  assert.equal(passed(5), 1);
  let total = 0;
  for (let step = 0; step < 1000; step++) {
    now += 1;
    total += passed(1);
  }
  assert.equal(total, 100);
  now += 3_600_000;
  assert.equal(passed(150), 100, "a bucket holds no more than its burst");
});

test("each name has a bucket of its own, and limits may change while it is in use", () => {
  const take = createRateLimit(() => 0);
  assert.equal(take("a", 1, 1).allowed, true);
  assert.equal(take("a", 1, 1).allowed, false);
  assert.equal(take("b", 1, 1).allowed, true);
  assert.equal(take("c", 10, 10).allowed, true);
  assert.equal(take("c", 1, 2).headers.ratelimit, '"default";r=1;t=1', "nine tokens do not fit any more");
});

test("a refusal says in whole seconds when a token will be there", () => {
  const take = createRateLimit(() => 0);
  take("key", 0.25, 1);
  assert.equal(take("key", 0.25, 1).headers["retry-after"], "4");
});
