import assert from "node:assert/strict";
import { test } from "node:test";
import { timeOption } from "./command.ts";

test("a time option takes a date in UTC or a time with its offset, and nothing ambiguous", () => {
  const read = (from: string) => timeOption({ from }, "from")!.toISOString();
  assert.equal(read("2027-01-31"), "2027-01-31T00:00:00.000Z");
  assert.equal(read("2027-01-31T12:00:00+02:00"), "2027-01-31T10:00:00.000Z");
  assert.equal(read("2027-01-31T12:00Z"), "2027-01-31T12:00:00.000Z");
  for (const wrong of ["2027-02-31", "2027-01-31T12:00", "2027-01-31 12:00:00Z", "tomorrow", "", "9999-12-31"])
    assert.throws(
      () => read(wrong),
      new RegExp(`--from takes a date from 1970 to 2199 such as 2027-01-31 or 2027-01-31T12:00:00Z, not "${wrong}"`),
    );
  assert.equal(timeOption({}, "from"), undefined);
});
