import assert from "node:assert/strict";
import { test } from "node:test";
import { nextLoudTime } from "./quiet-hours.ts";

const BERLIN = { zone: "Europe/Berlin", from: 21, to: 8 };
const next = (at: string, hours = BERLIN) => nextLoudTime(new Date(at), hours).toISOString();

test("a mail in quiet hours waits for their end in the merchant's time zone", () => {
  assert.equal(next("2026-06-10T10:00:00.000Z"), "2026-06-10T10:00:00.000Z");
  assert.equal(next("2026-06-10T19:05:00.000Z"), "2026-06-11T06:00:00.000Z");
  assert.equal(next("2026-06-10T05:59:59.000Z"), "2026-06-10T06:00:00.000Z");
  assert.equal(next("2026-01-10T22:30:00.000Z"), "2026-01-11T07:00:00.000Z");
});

test("the end of quiet hours is right on the days when clocks change", () => {
  assert.equal(next("2026-03-28T22:00:00.000Z"), "2026-03-29T06:00:00.000Z");
  assert.equal(next("2026-10-24T22:00:00.000Z"), "2026-10-25T07:00:00.000Z");
});

test("quiet hours may lie within a day, or be none", () => {
  const noon = { zone: "UTC", from: 12, to: 14 };
  assert.equal(next("2026-06-10T13:10:00.000Z", noon), "2026-06-10T14:00:00.000Z");
  assert.equal(next("2026-06-10T14:00:00.000Z", noon), "2026-06-10T14:00:00.000Z");
  assert.equal(next("2026-06-10T03:10:00.000Z", { zone: "UTC", from: 0, to: 0 }), "2026-06-10T03:10:00.000Z");
});
