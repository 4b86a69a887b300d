import assert from "node:assert/strict";
import { test } from "node:test";
import { isTimeZone } from "./time-zone.ts";

test("a time zone is an IANA name and not an offset", () => {
  for (const name of ["Europe/Berlin", "europe/berlin", "UTC", "Etc/GMT+5"]) assert.equal(isTimeZone(name), true, name);
  for (const name of ["Mars/Olympus", "+05:00", "", "A".repeat(65)]) assert.equal(isTimeZone(name), false, name);
});
