import assert from "node:assert/strict";
import { test } from "node:test";
import { findZone, localDay } from "./local-time.ts";
import { findPayDay } from "./pay-days.ts";

const payDayOf = (date: string, country: string | null) => {
  const found = findPayDay(localDay(findZone("UTC")!, Date.parse(`${date}T12:00:00Z`)), country);
  return found && `${found.words}, ${found.weight}`;
};

/** Returns the pay days of a month, and why each is one. */
function listPayDays(year: number, number: number, country: string | null) {
  const days: Record<number, string> = {};
  for (let day = 1; day <= new Date(Date.UTC(year, number, 0)).getUTCDate(); day++) {
    const why = payDayOf(`${year}-${String(number).padStart(2, "0")}-${String(day).padStart(2, "0")}`, country);
    if (why) days[day] = why;
  }
  return days;
}
const LAST = "the last business day of the month, 3";
const [FIRST, MIDDLE] = ["the first of the month, 2", "the 15th, 2"];

test("money comes at the turn and in the middle of the month everywhere, on the business day before a weekend", () => {
  // In 2026, September 1 and 15 are Tuesdays; September 30 is a Wednesday.
  assert.deepEqual(listPayDays(2026, 9, null), { 1: FIRST, 15: MIDDLE, 30: LAST });
  assert.deepEqual(listPayDays(2026, 9, "AT"), { 1: FIRST, 15: MIDDLE, 30: LAST });
  // In 2026, August 15 is a Saturday, and August 31 a Monday. August 1 is a Saturday, so that pay came on July 31, the last day
  // of its month.
  assert.deepEqual(listPayDays(2026, 8, null), { 14: MIDDLE, 31: LAST });
  // In 2026, May 31 is a Sunday, and May 1 a Friday.
  assert.deepEqual(listPayDays(2026, 5, null), { 1: FIRST, 15: MIDDLE, 29: LAST });
  // In 2026, February 1 and 15 are Sundays, and February 28 is a Saturday.
  assert.deepEqual(listPayDays(2026, 2, null), { 13: MIDDLE, 27: LAST });
});

test("a country's usual pay day counts most when it is another day of the month", () => {
  for (const [country, date] of [
    ["CH", 25],
    ["ES", 28],
    ["FR", 28],
    ["GB", 28],
    ["IT", 27],
    ["JP", 25],
    ["KR", 25],
    ["NL", 25],
    ["SE", 25],
  ] as const) {
    const days = listPayDays(2026, 9, country);
    const early = date === 27 ? 25 : date; // September 27, 2026 is a Sunday.
    assert.equal(days[early], `wages of the ${date}th, 3`, country);
    assert.deepEqual([days[1], days[15], days[30]], [FIRST, MIDDLE, LAST]);
  }
  // April 25, 2026 is a Saturday.
  assert.equal(payDayOf("2026-04-24", "SE"), "wages of the 25th, 3");
  assert.equal(payDayOf("2026-04-24", "DE"), null);
});

test("wages in Brazil are due by the fifth business day", () => {
  assert.equal(payDayOf("2026-09-07", "BR"), "the fifth business day of the month, 3");
  assert.equal(payDayOf("2026-09-07", "AR"), null);
  // August 1, 2026 is a Saturday.
  assert.equal(payDayOf("2026-08-07", "BR"), "the fifth business day of the month, 3");
  assert.deepEqual(Object.keys(listPayDays(2026, 9, "BR")), ["1", "7", "15", "30"]);
});

test("Fridays count a little when many people are paid weekly", () => {
  const friday = "weekly wages come on Fridays, 1";
  for (const country of ["US", "CA", "AU"])
    assert.deepEqual(listPayDays(2026, 9, country), {
      1: FIRST,
      4: friday,
      11: friday,
      15: MIDDLE,
      18: friday,
      25: friday,
      30: LAST,
    });
  assert.equal(payDayOf("2026-09-11", "GB"), friday);
  for (const country of ["DE", null]) assert.equal(payDayOf("2026-09-11", country), null);
  assert.equal(payDayOf("2026-09-10", "US"), null);
});
