import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRecords } from "./request-commands.ts";

test("a request's records are counted as stored, unchanged and ignored as older", () => {
  assert.equal(describeRecords({ records: 12, stored: 9, older: 1 }), "12: 9 stored, 2 unchanged, 1 ignored as older");
  assert.equal(
    describeRecords({ records: 5, stored: null, older: null }),
    "5",
    "a list request, or one from before these counts existed",
  );
  assert.equal(describeRecords({ records: null, stored: null, older: null }), "-");
});
