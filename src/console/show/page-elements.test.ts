import assert from "node:assert/strict";
import { test } from "node:test";
import { html, htmlText } from "../html.ts";
import { formatCsvLine } from "./csv-export.ts";
import { formatMoney } from "./number-format.ts";
import { formatDuration, formatTime, formatZonedIso, parseDatetimeLocal, toDatetimeLocal } from "./time-format.ts";

test("amounts have the decimals of ISO 4217, independent of the runtime's currency data", () => {
  const cases: [bigint | number, string, string][] = [
    [1234, "JPY", "JPY 1,234"],
    [123456, "USD", "USD 1,234.56"],
    [1234, "KWD", "KWD 1.234"],
    [123456, "HUF", "HUF 1,234.56"],
    [123456, "IDR", "IDR 1,234.56"],
    [12345, "CLF", "CLF 1.2345"],
    [5, "EUR", "EUR 0.05"],
    [0, "EUR", "EUR 0.00"],
    [7, "XXZ", "XXZ 0.07"],
  ];
  for (const [minor, currency, shown] of cases)
    assert.equal(formatMoney(minor, currency).replace("\u00a0", " "), shown);
});

test("an amount beyond the safe integers is exact", () => {
  assert.equal(formatMoney("9007199254740993", "USD").slice(4), "90,071,992,547,409.93");
});

test("times are shown in the zone, also on the days of clock changes", () => {
  const at = new Date("2026-10-25T00:30:00Z");
  assert.equal(formatTime(at, "Europe/Berlin"), "25 Oct 2026 02:30");
  assert.equal(formatTime(new Date("2026-10-25T01:30:00Z"), "Europe/Berlin"), "25 Oct 2026 02:30");
  assert.equal(formatZonedIso(at, "Europe/Berlin"), "2026-10-25T02:30:00.000+02:00");
  assert.equal(formatZonedIso(new Date("2026-10-25T01:30:00Z"), "Europe/Berlin"), "2026-10-25T02:30:00.000+01:00");
  assert.equal(formatZonedIso(at, "Asia/Kathmandu"), "2026-10-25T06:15:00.000+05:45");
  assert.equal(formatZonedIso(at, "UTC"), "2026-10-25T00:30:00.000+00:00");
});

test("a local time is parsed as the first of two when clocks go back, and as the time after the gap when they go forward", () => {
  const utc = (text: string, zone: string) => parseDatetimeLocal(text, zone)?.toISOString();
  assert.equal(utc("2026-07-01T12:00", "Europe/Berlin"), "2026-07-01T10:00:00.000Z");
  assert.equal(utc("2026-10-25T02:30", "Europe/Berlin"), "2026-10-25T00:30:00.000Z");
  assert.equal(utc("2026-03-29T02:30", "Europe/Berlin"), "2026-03-29T01:30:00.000Z");
  assert.equal(utc("2026-01-01T00:00", "Pacific/Auckland"), "2025-12-31T11:00:00.000Z");
  assert.equal(utc("2026-02-30T09:00", "UTC"), undefined);
  assert.equal(utc("yesterday", "UTC"), undefined);
  for (const zone of ["America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"])
    for (let month = 0; month < 12; month++) {
      const at = new Date(Date.UTC(2026, month, 15, 12, 34));
      assert.deepEqual(parseDatetimeLocal(toDatetimeLocal(at, zone), zone), at, zone);
    }
});

test("durations are shown in their largest unit", () => {
  assert.deepEqual([0, 999, 1_000, 61_000, 7_200_000, 86_400_000 * 3].map(formatDuration), [
    "0 ms",
    "999 ms",
    "1 second",
    "1 minute",
    "2 hours",
    "3 days",
  ]);
});

test("a template escapes text and attributes, keeps markup, and renders null as nothing", () => {
  const nasty = `"><script>&'`;
  assert.equal(
    htmlText(html`<a title="${nasty}">${[html`<b>${nasty}</b>`, null, undefined, false, 0]}</a>`),
    '<a title="&quot;&gt;&lt;script&gt;&amp;&#39;"><b>&quot;&gt;&lt;script&gt;&amp;&#39;</b>0</a>',
  );
});

test("cells that a spreadsheet would run are shown as text", () => {
  for (const cell of [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    " =1+1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20A1",
  ])
    assert.ok(formatCsvLine([cell]).replace('"', "").startsWith(`'${cell[0]}`), cell);
  for (const cell of ["x;=1+1", "x\t=1+1"]) assert.equal(formatCsvLine([cell]), `"${cell}"\r\n`);
  assert.equal(formatCsvLine(['a"b', "c,d", "e\nf", null, 5]), '"a""b","c,d","e\nf",,5\r\n');
});
