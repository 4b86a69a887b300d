import assert from "node:assert/strict";
import { test } from "node:test";
import { maxAttempts } from "../domain/event.ts";
import { nextAttemptDueAt, parseRetryAfterMs, RETRY_AFTER_MAX_MS } from "./attempt-schedule.ts";

const END = new Date("2026-03-01T00:00:00.000Z");
const delay = (number: number, retryAfter?: number) =>
  nextAttemptDueAt(number, END, retryAfter).getTime() - END.getTime();

test("each failed attempt is followed by the documented delay, counted from its end", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((number) => delay(number)),
    [100, 5_000, 15_000, 900_000, 1_800_000, 3_600_000],
  );
});

test("a recovery action has six attempts, and the two other types have seven", () => {
  assert.deepEqual(
    [maxAttempts("recovery_action"), maxAttempts("pause_collection"), maxAttempts("complete_dunning")],
    [6, 7, 7],
  );
});

test("no attempt follows the seventh", () => {
  assert.throws(() => nextAttemptDueAt(7, END), RangeError);
});

test("Retry-After moves an attempt later by at most a day, and never earlier", () => {
  assert.equal(delay(2, 60_000), 60_000);
  assert.equal(delay(4, 60_000), 900_000);
  assert.equal(delay(1, 1e15), RETRY_AFTER_MAX_MS);
});

test("Retry-After is parsed as seconds or as an HTTP date", () => {
  const cases: [string | null, number][] = [
    ["120", 120_000],
    [" 7 ", 7_000],
    ["0", 0],
    ["Sun, 01 Mar 2026 00:01:00 GMT", 60_000],
    ["Sunday, 01-Mar-26 00:01:00 GMT", 60_000],
    ["Sat, 28 Feb 2026 00:00:00 GMT", 0],
    ["-5", 0],
    ["1.5", 0],
    ["1e3", 0],
    ["soon", 0],
    ["2026-03-02", 0],
    ["99999999999999999999", 0],
    ["", 0],
    [null, 0],
  ];
  for (const [field, expected] of cases) assert.equal(parseRetryAfterMs(field, END), expected, String(field));
});
