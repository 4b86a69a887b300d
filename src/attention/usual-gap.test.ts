import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../domain/durations.ts";
import { isTooLong, OBSERVED_HOURS, usualGapMs } from "./usual-gap.ts";

/**
 * @param isActive  by hour from midnight, and by day from Monday
 * @param lastHour  the last observed one, counted from Monday at midnight
 */
function gapHours(isActive: (hour: number, day: number) => boolean, pushes = 100, lastHour = OBSERVED_HOURS - 1) {
  const hours = Array.from({ length: OBSERVED_HOURS }, (_, i) => {
    const hour = (lastHour + 1 + i) % OBSERVED_HOURS;
    return isActive(hour % 24, Math.floor(hour / 24));
  });
  const gapMs = usualGapMs({ pushes, hours });
  return gapMs === null ? null : gapMs / HOUR_MS;
}

test("a merchant that pushes every hour has a usual gap: one hour", () => {
  assert.equal(
    gapHours(() => true),
    1,
  );
});

test("a merchant that pushes in office hours is allowed its weekends", () => {
  const office = (hour: number, day: number) => day % 7 < 5 && hour >= 9 && hour < 18;
  // Friday 18:00 to Monday 9:00, with the last push on Monday, Wednesday and Friday
  for (const lastHour of [9, 2 * 24 + 12, 4 * 24 + 17]) assert.equal(gapHours(office, 100, lastHour), 64);
  assert.equal(isTooLong(100 * HOUR_MS, 64 * HOUR_MS), false);
  assert.equal(isTooLong(129 * HOUR_MS, 64 * HOUR_MS), true);
});

test("one outage does not make long gaps usual", () => {
  const withOutage = (hour: number, day: number) => day !== 4 && hour !== 3;
  assert.equal(gapHours(withOutage), 2);
});

test("nothing is usual after few pushes, or after pushes on few days", () => {
  assert.equal(
    gapHours(() => true, 19),
    null,
  );
  assert.equal(
    gapHours((_, day) => day === 0),
    null,
  );
  assert.equal(
    gapHours((_, day) => day < 6),
    null,
  );
});
