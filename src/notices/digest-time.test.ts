import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_NOTICES } from "../domain/notice.ts";
import { nextDigestAt } from "./digest-time.ts";

const next = (settings: Partial<typeof NO_NOTICES>, zone: string, after: string) =>
  nextDigestAt({ ...NO_NOTICES, ...settings }, zone, new Date(after))?.toISOString() ?? null;

test("a daily digest is due at the next such hour in the person's zone", () => {
  const daily = { digest: "daily", digestHour: 8 } as const;
  assert.equal(next(daily, "Europe/Berlin", "2026-01-15T06:59:59Z"), "2026-01-15T07:00:00.000Z");
  assert.equal(next(daily, "Europe/Berlin", "2026-01-15T07:00:00Z"), "2026-01-16T07:00:00.000Z");
  assert.equal(next(daily, "America/New_York", "2026-01-15T07:00:00Z"), "2026-01-15T13:00:00.000Z");
});

test("a digest keeps its local hour when daylight saving time begins", () => {
  const daily = { digest: "daily", digestHour: 8 } as const;
  assert.equal(next(daily, "Europe/Berlin", "2026-03-28T08:00:00Z"), "2026-03-29T06:00:00.000Z");
});

test("a weekly digest is due on its weekday, and Sunday is the seventh", () => {
  // A Thursday
  const after = "2026-01-15T12:00:00Z";
  assert.equal(next({ digest: "weekly", digestWeekday: 1 }, "UTC", after), "2026-01-19T08:00:00.000Z");
  assert.equal(next({ digest: "weekly", digestWeekday: 7 }, "UTC", after), "2026-01-18T08:00:00.000Z");
  assert.equal(next({ digest: "weekly", digestWeekday: 4 }, "UTC", after), "2026-01-22T08:00:00.000Z");
});

test("without a digest nothing is due, and an unknown zone counts as UTC", () => {
  assert.equal(next({}, "UTC", "2026-01-15T12:00:00Z"), null);
  assert.equal(next({ digest: "daily" }, "Mars/Base", "2026-01-15T07:00:00Z"), "2026-01-15T08:00:00.000Z");
});
