import assert from "node:assert/strict";
import { test } from "node:test";
import { findZone, localDay } from "./local-time.ts";
import { findPayDay } from "./pay-days.ts";

const payDayOf = (date: string, country: string | null) => {
  const found = findPayDay(localDay(findZone("UTC")!, Date.parse(`${date}T12:00:00Z`)), country);
  return found && `${found.words}, ${found.weight}`;
};

/** The days of a month on which people are paid, and why. */
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

test("everywhere money comes at the turn and in the middle of the month, on the business day before a weekend", () => {
  // 1 September 2026 is a Tuesday, 15 September too; 30 September is a Wednesday.
  assert.deepEqual(listPayDays(2026, 9, null), { 1: FIRST, 15: MIDDLE, 30: LAST });
  assert.deepEqual(listPayDays(2026, 9, "AT"), { 1: FIRST, 15: MIDDLE, 30: LAST });
  // 15 August 2026 is a Saturday, 31 August a Monday, 1 August a Saturday: it was paid on 31 July, which is the month's last.
  assert.deepEqual(listPayDays(2026, 8, null), { 14: MIDDLE, 31: LAST });
  // 31 May 2026 is a Sunday, 1 May a Friday.
  assert.deepEqual(listPayDays(2026, 5, null), { 1: FIRST, 15: MIDDLE, 29: LAST });
  // 1 February 2026 is a Sunday, 15 February as well, 28 February a Saturday.
  assert.deepEqual(listPayDays(2026, 2, null), { 13: MIDDLE, 27: LAST });
});

test("where wages are usual on another day of the month, that counts most", () => {
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
    const early = date === 27 ? 25 : date; // 27 September 2026 is a Sunday
    assert.equal(days[early], `wages of the ${date}th, 3`, country);
    assert.deepEqual([days[1], days[15], days[30]], [FIRST, MIDDLE, LAST]);
  }
  // 25 April 2026 is a Saturday.
  assert.equal(payDayOf("2026-04-24", "SE"), "wages of the 25th, 3");
  assert.equal(payDayOf("2026-04-24", "DE"), null);
});

test("in Brazil wages are due by the fifth business day", () => {
  assert.equal(payDayOf("2026-09-07", "BR"), "the fifth business day of the month, 3");
  assert.equal(payDayOf("2026-09-07", "AR"), null);
  // 1 August 2026 is a Saturday.
  assert.equal(payDayOf("2026-08-07", "BR"), "the fifth business day of the month, 3");
  assert.deepEqual(Object.keys(listPayDays(2026, 9, "BR")), ["1", "7", "15", "30"]);
});

test("where many are paid by the week, Fridays count a little", () => {
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
