import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addMonths,
  calendarDayOf,
  calendarOf,
  computeOffsets,
  computeWorkDays,
  hourOf,
  monthDate,
  toLocalTime,
} from "./world-calendar.ts";

const calendar = calendarOf(Date.UTC(2025, 0, 1), Date.UTC(2026, 0, 1));
const dayAt = (month: number, date: number) => Date.UTC(2025, month - 1, date) / 86_400_000 - calendar.firstDay;

test("clocks go forward in the summer of their hemisphere, and stay where there is no summer time", () => {
  const hour = (zone: Parameters<typeof computeOffsets>[0], month: number) =>
    hourOf(toLocalTime(calendar, computeOffsets(zone, calendar), Date.UTC(2025, month - 1, 15, 12)));
  assert.deepEqual(
    [hour({ utcOffsetHours: -5, summer: "US" }, 1), hour({ utcOffsetHours: -5, summer: "US" }, 7)],
    [7, 8],
  );
  assert.deepEqual(
    [hour({ utcOffsetHours: 1, summer: "EU" }, 3), hour({ utcOffsetHours: 1, summer: "EU" }, 4)],
    [13, 14],
  );
  assert.deepEqual(
    [hour({ utcOffsetHours: 10, summer: "AU" }, 1), hour({ utcOffsetHours: 10, summer: "AU" }, 7)],
    [23, 22],
  );
  assert.deepEqual([hour({ utcOffsetHours: 5.5 }, 1), hour({ utcOffsetHours: 5.5 }, 7)], [17.5, 17.5]);
});

test("a local evening can fall on another date than in London", () => {
  const offsets = computeOffsets({ utcOffsetHours: -8 }, calendar);
  const day = calendarDayOf(calendar, toLocalTime(calendar, offsets, Date.UTC(2025, 2, 1, 3)));
  assert.equal(monthDate(calendar, day), 228);
  assert.equal(calendar.lastDate[day], 28);
});

test("offices close at weekends and on the country's holidays", () => {
  const works = (country: string, month: number, date: number) =>
    computeWorkDays(country, calendar)[dayAt(month, date)];
  assert.deepEqual([works("US", 7, 3), works("US", 7, 4), works("GB", 7, 4)], [1, 0, 1]);
  assert.deepEqual([works("DE", 5, 4), works("DE", 5, 9), works("SA", 5, 4), works("SA", 5, 9)], [0, 1, 1, 0]);
});

test("a month later is the same date and time of day, or the last date of a shorter month", () => {
  const start = Date.UTC(2025, 0, 31, 9, 30);
  assert.equal(addMonths(start, 1, 31), Date.UTC(2025, 1, 28, 9, 30));
  assert.equal(addMonths(start, 14, 31), Date.UTC(2026, 2, 31, 9, 30));
  assert.equal(addMonths(start, 2, 1), Date.UTC(2025, 2, 1, 9, 30));
});
