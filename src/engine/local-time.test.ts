import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findCustomerLocale } from "./customer-locale.ts";
import { addDays, atLocalTime, findZone, formatZonedTime, localDay, offsetMs } from "./local-time.ts";
import { findPayDay } from "./pay-days.ts";

const at = (text: string) => Date.parse(text);
const day = (year: number, month: number, date: number) => localDay(findZone("UTC")!, Date.UTC(year, month - 1, date));
const iso = (time: number) => new Date(time).toISOString();

test("nine in the morning stays nine on both days on which Berlin changes its clocks", () => {
  const berlin = findZone("Europe/Berlin")!;
  assert.equal(iso(atLocalTime(berlin, day(2026, 3, 28), 9)), "2026-03-28T08:00:00.000Z");
  assert.equal(iso(atLocalTime(berlin, day(2026, 3, 29), 9)), "2026-03-29T07:00:00.000Z");
  assert.equal(iso(atLocalTime(berlin, day(2026, 10, 25), 9)), "2026-10-25T08:00:00.000Z");
});

test("a skipped midnight becomes the first time of the day, and the first of two is used", () => {
  // Santiago skips from 24:00 to 01:00 on September 6, 2026; New York has 01:00 twice on November 1, 2026.
  const skipped = atLocalTime(findZone("America/Santiago")!, day(2026, 9, 6), 0);
  assert.equal(iso(skipped), "2026-09-06T04:00:00.000Z");
  assert.equal(iso(atLocalTime(findZone("America/New_York")!, day(2026, 11, 1), 1)), "2026-11-01T05:00:00.000Z");
  // Lord Howe changes by half an hour, at half past the hour in UTC.
  assert.equal(offsetMs(findZone("Australia/Lord_Howe")!, at("2026-04-04T14:59:59Z")) / 60_000, 660);
  assert.equal(offsetMs(findZone("Australia/Lord_Howe")!, at("2026-04-04T15:00:00Z")) / 60_000, 630);
});

test("the cached offset equals that of Intl at any time in any zone", () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf("timeZone"));
  const times = fc.integer({ min: at("2020-01-01"), max: at("2040-01-01") });
  fc.assert(
    fc.property(zones, times, (name, time) => {
      const zone = findZone(name)!;
      const local = new Date(time + offsetMs(zone, time));
      const shown = new Intl.DateTimeFormat("sv-SE", {
        timeZone: name,
        dateStyle: "short",
        timeStyle: "medium",
      }).format(time);
      assert.equal(local.toISOString().slice(0, 19).replace("T", " "), shown);
    }),
    { numRuns: 300 },
  );
});

test("a time is written with its weekday, clock and zone", () => {
  const words = (text: string) => formatZonedTime(findZone("Europe/Berlin")!, at(text));
  assert.equal(words("2026-04-14T07:07:00Z"), "Tue 14 April, 09:07 (Europe/Berlin)");
  const days = [19, 20, 21, 22, 23, 24, 25].map((day) => words(`2026-04-${day}T10:00:00Z`).slice(0, 6));
  assert.deepEqual(days, ["Sun 19", "Mon 20", "Tue 21", "Wed 22", "Thu 23", "Fri 24", "Sat 25"]);
});

test("the zone is the customer's, else the card country's, else the currency's, else UTC", () => {
  const zone = (customerTimezone: string | null, cardCountry: string | null, currency: string) =>
    findCustomerLocale({ customerTimezone, cardCountry, currency }).zone.name;
  assert.equal(zone("Asia/Tokyo", "DE", "SEK"), "Asia/Tokyo");
  assert.equal(zone("Mars/Olympus", "DE", "SEK"), "Europe/Berlin");
  assert.equal(zone(null, null, "SEK"), "Europe/Stockholm");
  assert.equal(zone(null, null, "gbp"), "Europe/London");
  assert.equal(zone(null, null, "USD"), "UTC");
  assert.equal(zone(null, "ZZ", "EUR"), "UTC");
  const others = ["GT", "PR", "KW", "LK", "GE", "KZ", "RU"].map((country) => zone(null, country, "USD"));
  assert.deepEqual(others, [
    "America/Guatemala",
    "America/Puerto_Rico",
    "Asia/Kuwait",
    "Asia/Colombo",
    "Asia/Tbilisi",
    "Asia/Almaty",
    "Europe/Moscow",
  ]);
  for (const stranger of ["", "gt", "a country", "GTM", "xGT", "GT "]) assert.equal(zone(null, stranger, "EUR"), "UTC");
});

test("pay days move to the business day before a weekend", () => {
  // In 2026, August 15 and April 25 are Saturdays, May 31 is a Sunday, and August 28 a Friday.
  assert.match(findPayDay(day(2026, 8, 14), null)!.words, /15th/);
  assert.equal(findPayDay(day(2026, 8, 15), null), null);
  assert.match(findPayDay(day(2026, 5, 29), null)!.words, /last business day/);
  assert.match(findPayDay(day(2026, 4, 24), "SE")!.words, /25th/);
  assert.match(findPayDay(day(2026, 7, 28), "GB")!.words, /28th/);
  assert.match(findPayDay(day(2026, 7, 10), "US")!.words, /Friday/);
  assert.equal(findPayDay(day(2026, 7, 10), "DE"), null);
  assert.match(findPayDay(day(2026, 7, 7), "BR")!.words, /fifth business day/);
});

test("the calendar continues across the ends of months and years", () => {
  assert.deepEqual(addDays(day(2026, 12, 31), 1), { year: 2027, month: 1, day: 1, weekday: 5 });
  assert.deepEqual(addDays(day(2028, 2, 28), 1), { year: 2028, month: 2, day: 29, weekday: 2 });
});
