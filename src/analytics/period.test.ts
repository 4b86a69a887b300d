import assert from "node:assert/strict";
import { test } from "node:test";
import { datedPeriod, monthBounds, namedPeriod, PERIOD_NAMES, periodBefore } from "./period.ts";

const NOW = new Date("2027-03-31T10:00:00Z");
const iso = (times: readonly Date[]) => times.map((at) => at.toISOString().slice(0, 16));

test("weeks begin on Monday at midnight of the reader's zone, also across a change of clocks", () => {
  const { bounds, from, to } = namedPeriod("4w", NOW, "Europe/Berlin");
  assert.deepEqual(iso(bounds), [
    "2027-03-07T23:00",
    "2027-03-14T23:00",
    "2027-03-21T23:00",
    "2027-03-28T22:00",
    "2027-04-04T22:00",
  ]);
  assert.deepEqual([from.getTime(), to.getTime()], [bounds[0]!.getTime(), NOW.getTime() + 1]);
});

test("the period before has as many days, up to the same time", () => {
  const period = namedPeriod("4w", NOW, "Europe/Berlin");
  const before = periodBefore(period, "Europe/Berlin");
  assert.equal(before.bounds.length, period.bounds.length);
  assert.equal(before.from.toISOString(), "2027-02-07T23:00:00.000Z");
  assert.ok(before.to <= period.from);
  const months = namedPeriod("12m", NOW, "UTC");
  assert.deepEqual(iso(periodBefore(months, "UTC").bounds).slice(0, 2), ["2025-04-01T00:00", "2025-05-01T00:00"]);
});

test("a quarter is compared with the same days of the quarter before", () => {
  const now = new Date("2027-01-14T10:00:00Z");
  const quarter = namedPeriod("quarter", now, "Europe/Berlin");
  const before = periodBefore(quarter, "Europe/Berlin");
  assert.deepEqual(iso(quarter.bounds), [
    "2026-12-31T23:00",
    "2027-01-03T23:00",
    "2027-01-10T23:00",
    "2027-01-17T23:00",
  ]);
  assert.deepEqual(iso(before.bounds), [
    "2026-09-30T22:00",
    "2026-10-03T22:00",
    "2026-10-10T22:00",
    "2026-10-17T22:00",
  ]);
  assert.equal(before.to.toISOString(), "2026-10-14T09:00:00.001Z");
});

test("a period by dates includes both days, and impossible dates are refused", () => {
  const { bounds, step } = datedPeriod("2027-01-01", "2027-03-31", NOW, "America/New_York")!;
  assert.equal(step, "week");
  assert.deepEqual(iso([bounds[0]!, bounds[1]!, bounds.at(-1)!]), [
    "2027-01-01T05:00",
    "2027-01-04T05:00",
    "2027-04-01T04:00",
  ]);
  for (const [from, to] of [
    ["2027-02-30", "2027-03-01"],
    ["2027-03-02", "2027-03-01"],
    ["2020-01-01", "2027-01-01"],
    ["x", "2027-01-01"],
  ] as const)
    assert.equal(datedPeriod(from, to, NOW, "UTC"), null, `${from} to ${to}`);
});

test("every period's steps join without a gap, and none is empty, in any zone", () => {
  for (const zone of [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Apia",
  ])
    for (let day = 0; day < 400; day += 7)
      for (const name of PERIOD_NAMES) {
        const now = new Date(NOW.getTime() + day * 86_400_000);
        const period = namedPeriod(name, now, zone);
        const before = periodBefore(period, zone);
        for (const { bounds, from } of [period, before]) {
          assert.equal(bounds[0]!.getTime(), from.getTime());
          for (const [index, at] of bounds.entries())
            assert.ok(index === 0 || at > bounds[index - 1]!, `${name} ${zone} ${now.toISOString()}`);
        }
        assert.ok(period.bounds.at(-1)! > now && before.to <= period.from, `${name} ${zone} ${now.toISOString()}`);
      }
});

test("months are cut at the ends of a span", () => {
  const bounds = monthBounds(new Date("2027-01-15T00:00Z"), new Date("2027-03-10T00:00Z"), "Europe/Berlin");
  assert.deepEqual(iso(bounds), ["2027-01-15T00:00", "2027-01-31T23:00", "2027-02-28T23:00", "2027-03-10T00:00"]);
});
