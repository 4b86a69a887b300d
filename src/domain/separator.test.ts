import assert from "node:assert/strict";
import { test } from "node:test";
import { separatorOf } from "./separator.ts";

test("columns are parted by the sign that is in the heading most often, and by commas where none is", () => {
  const texts = {
    ",": ["id,state\n1;2;3", "id", "", '"a;b;c",d', "\ufeff\r\nid,state"],
    ";": ["id;state\r\n1,2,3,4", '\ufeff"id";"total, in cents, of all";"x"', "\n\na;b", 'a;b;"no end, of, this'],
    "\t": ["id\tstate\n", 'id\t"a,b,c"\tstate'],
  };
  for (const [sign, beginnings] of Object.entries(texts))
    for (const text of beginnings) assert.equal(separatorOf(text), sign, JSON.stringify(text));
});
