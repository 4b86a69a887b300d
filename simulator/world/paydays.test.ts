import assert from "node:assert/strict";
import { test } from "node:test";
import { findNextPaydays, type PayRhythm } from "./paydays.ts";

const paydays = (rhythm: PayRhythm, after: string, utcOffsetHours = 0) =>
  findNextPaydays({ rhythm, utcOffsetHours, postingHour: 6 }, Date.parse(after), 3).map((at) =>
    new Date(at).toISOString(),
  );

test("dated pay is posted on the Friday before a weekend, and on the last day of a short month", () => {
  assert.deepEqual(paydays({ kind: "monthly", day: 31 }, "2026-01-01T00:00:00Z"), [
    "2026-01-30T06:00:00.000Z",
    "2026-02-27T06:00:00.000Z",
    "2026-03-31T06:00:00.000Z",
  ]);
  assert.equal(paydays({ kind: "monthly", day: 1 }, "2026-02-02T00:00:00Z")[0], "2026-02-27T06:00:00.000Z");
});

test("weekly pay comes every seven days, fortnightly pay every fourteen, in local time", () => {
  assert.deepEqual(paydays({ kind: "weekly", weekday: 5 }, "2026-03-06T10:59:59Z", -5), [
    "2026-03-06T11:00:00.000Z",
    "2026-03-13T11:00:00.000Z",
    "2026-03-20T11:00:00.000Z",
  ]);
  const [first, second] = paydays({ kind: "fortnightly", weekday: 5, phase: 0 }, "2026-03-01T00:00:00Z");
  assert.equal(Date.parse(second!) - Date.parse(first!), 14 * 86_400_000);
});

test("the next paydays exclude the present one", () => {
  const twice: PayRhythm = { kind: "twice_monthly", days: [1, 15] };
  assert.equal(paydays(twice, "2026-04-01T06:00:00Z")[0], "2026-04-15T06:00:00.000Z");
});
