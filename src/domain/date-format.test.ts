import assert from "node:assert/strict";
import { test } from "node:test";
import { DATE_ORDERS, type DateOrder, describeDateRule, toTimestampText } from "./date-format.ts";
import { parseTimestamp } from "./timestamp.ts";

const momentOf = (text: string, dates: DateOrder | null) =>
  parseTimestamp(toTimestampText(text, dates))?.toISOString() ?? null;

test("a date in an ambiguous order is read only with --dates", () => {
  for (const [text, dates, iso] of [
    ["25.11.2026", "dmy", "2026-11-25T00:00:00.000Z"],
    ["2.1.2026 08:05", "dmy", "2026-01-02T08:05:00.000Z"],
    ["02/01/2026", "dmy", "2026-01-02T00:00:00.000Z"],
    ["11/25/2026", "mdy", "2026-11-25T00:00:00.000Z"],
    ["01/02/2026, 12:30 AM", "mdy", "2026-01-02T00:30:00.000Z"],
    ["01/02/2026 12:30:15 pm", "mdy", "2026-01-02T12:30:15.000Z"],
    ["2026-01-02 08:00:00", "ymd", "2026-01-02T08:00:00.000Z"],
    ["2026-01-02 08:00", "dmy", "2026-01-02T08:00:00.000Z"],
    ["2026/1/2 8:00:00 UTC", "ymd", "2026-01-02T08:00:00.000Z"],
    ["02-Jan-2026 08:00", "dmy", "2026-01-02T08:00:00.000Z"],
    ["Jan 2, 2026, 8:00\u202fPM", "mdy", "2026-01-02T20:00:00.000Z"],
    ["02.01.2026 08:00 -05:00", "dmy", "2026-01-02T13:00:00.000Z"],
  ] as const) {
    assert.equal(momentOf(text, dates), iso, `${text} ${dates}`);
    assert.equal(momentOf(text, null), null, text);
  }
});

test("a time with a zone and a date with the year first are read with any --dates", () => {
  for (const dates of [null, ...DATE_ORDERS]) {
    assert.equal(momentOf("2026-01-02T08:00:00.5+02:00", dates), "2026-01-02T06:00:00.500Z");
    assert.equal(momentOf(" 2026-01-02 ", dates), "2026-01-02T00:00:00.000Z");
  }
});

test("a date that does not match --dates is refused", () => {
  for (const [text, dates] of [
    ["11/25/2026", "dmy"],
    ["25.11.2026", "mdy"],
    ["05.01.2026", "mdy"],
    ["25.11.2026", "ymd"],
    ["25.11.26", "dmy"],
    ["25.11/2026", "dmy"],
    ["30.02.2026", "dmy"],
    ["02.01.2026 25:00", "dmy"],
    ["02.01.2026 13:00 PM", "dmy"],
    ["02.01.2026 8", "dmy"],
    ["02.01.2026 08:00 CET", "dmy"],
    ["2026-13-01", "ymd"],
    ["yesterday", "dmy"],
    ["", "dmy"],
  ] as const)
    assert.equal(momentOf(text, dates), null, `${text} ${dates}`);
});

test("a two-digit year is refused because its century and order are unknown", () => {
  const short = "has a two-digit year, which is ambiguous: write four digits, as in";
  const says = (text: string, dates: DateOrder | null) => describeDateRule({ dates }, text);
  assert.equal(says("25.11.26", "dmy"), `${short} 31.01.2026 12:00 (--dates dmy)`);
  assert.equal(says(" 1/2/26 08:00", "mdy"), `${short} 01/31/2026 12:00 (--dates mdy)`);
  assert.equal(says("26-11-25", "ymd"), `${short} 2026-01-31 12:00 (--dates ymd)`);
  assert.equal(
    says("25.11.26", null),
    `${short} 2026-01-31; to read dates in another form, use --dates ymd, dmy or mdy`,
  );
  assert.equal(describeDateRule(null, "25.11.26"), `${short} 2026-01-31`);
  for (const text of ["25-NOV-26", "25 November 26", "25NOV26", "Nov 25, 26"])
    assert.match(says(text, null), /^has a two-digit year/, text);
  for (const text of ["25.11.2026", "25.11", "1.2.345", "yesterday", ""])
    assert.match(says(text, "ymd"), /^must be a real date from 1970/, text);
});

test("an unambiguous time with a zone is read without an option", () => {
  for (const [text, iso] of [
    ["2026-01-01 08:30:00.123456+00", "2026-01-01T08:30:00.123Z"], // PostgreSQL
    ["2026-01-01 08:30:00+05:30", "2026-01-01T03:00:00.000Z"],
    ["2026-01-01 08:30:00-08", "2026-01-01T16:30:00.000Z"],
    ["2026-01-01 08:30:00 -0800", "2026-01-01T16:30:00.000Z"], // Ruby
    ["2026-01-01 08:30:00 UTC", "2026-01-01T08:30:00.000Z"],
    ["2026-01-01 08:30:00 +0000 UTC", "2026-01-01T08:30:00.000Z"], // Go
    ["2026-01-01 08:30:00.123456789 +0000 UTC", "2026-01-01T08:30:00.123Z"],
    ["2026-01-01 08:30:00.5 -0800 PST m=+0.000012345", "2026-01-01T16:30:00.500Z"],
    ["2026-01-01 08:30:00 +0530 +0530", "2026-01-01T03:00:00.000Z"],
    ["2026-01-01 08:30:00 -0300 -03", "2026-01-01T11:30:00.000Z"],
    ["2026-01-01T08:30:00+0000", "2026-01-01T08:30:00.000Z"],
    ["2026-01-02 08:00:00.250 +02:00", "2026-01-02T06:00:00.250Z"],
    ["2026-01-01 08:30Z", "2026-01-01T08:30:00.000Z"],
    ["Thu Jan 01 2026 08:30:00 GMT+0100 (Central European Standard Time)", "2026-01-01T07:30:00.000Z"], // JavaScript
    ["Thu, 01 Jan 2026 08:30:00 GMT", "2026-01-01T08:30:00.000Z"],
    ["02-Jan-2026 08:30:00 +02:00", "2026-01-02T06:30:00.000Z"],
  ] as const)
    for (const order of [null, ...DATE_ORDERS]) assert.equal(momentOf(text, order), iso, `${text} ${order}`);
});

test("a date with a month name is read without an option", () => {
  for (const text of [
    ...[
      "02-Jan-2026",
      "2 January 2026",
      "Jan 2, 2026",
      "January 2nd, 2026",
      "02JAN2026",
      "2026-Jan-02",
      "2. Jan. 2026",
    ],
    ...["Fri, 2 Jan 2026", "Friday, January 2, 2026", "2nd of January 2026", "jan 2 2026", "2/Jan/2026"],
  ])
    for (const order of [null, ...DATE_ORDERS]) assert.equal(momentOf(text, order), "2026-01-02T00:00:00.000Z", text);
  const days = ["Feb", "mar", "APRIL", "May", "June", "jul", "Aug", "Sept", "sep", "October", "Nov", "December"];
  assert.deepEqual(
    days.map((month) => momentOf(`3 ${month} 2026`, null)?.slice(5, 7)),
    ["02", "03", "04", "05", "06", "07", "08", "09", "09", "10", "11", "12"],
  );
});

test("an ambiguous or contradictory time is refused", () => {
  for (const text of [
    ...["2026-01-02 08:30:00", "02-Jan-2026 08:30", "2026-01-02T08:30:00"], // local or UTC?
    ...["02/01/2026 08:30:00 +00:00", "2/1/2026"], // which month comes first?
    ...["02-Jan-26", "Jan 2026", "2 Juno 2026", "30 Feb 2026", "Jan 32, 2026", "2 Jan 20261"],
    ...["2026-01-01 08:30:00 -0800 UTC", "2026-01-01 08:30:00 +9900", "2026-01-01 08:30:00 PST"],
    ...["2026-01-01 08:30:00 -0800 PM", "2026-01-01 08:30:00 m=+0.1", "2026-01-01+00", "2026-01-01 08:30:00 +0"],
  ])
    assert.equal(momentOf(text, null), null, text);
});
