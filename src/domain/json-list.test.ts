import assert from "node:assert/strict";
import { test } from "node:test";
import { createJsonListSplitter, isJsonList } from "./json-list.ts";

/** Returns the records of a text that arrives in pieces of one size. */
function parts(text: string, size = text.length) {
  const list = createJsonListSplitter("invoices", 100);
  const found: [record: number, json: string][] = [];
  for (let at = 0; at < text.length; at += size)
    for (const { record, json } of list.take(text.slice(at, at + size))) found.push([record, json]);
  list.end();
  return found;
}

test("a list is split into its records for any piece size", () => {
  const text = '\n[ {"id":"a,]}\\"["},\n\n  {"id": [1, {"b": 2}]} ,3\n]\n';
  for (const size of [1, 2, 7, text.length])
    assert.deepEqual(
      parts(text, size),
      [
        [1, '{"id":"a,]}\\"["}'],
        [2, '{"id": [1, {"b": 2}]}'],
        [3, "3"],
      ],
      `pieces of ${size}`,
    );
  assert.deepEqual(parts("[]"), []);
});

test("a body of the API is a list, and text after it is refused", () => {
  for (const size of [1, 50]) assert.deepEqual(parts('{\r\n "invoices" : [\r\n{}]\r\n}\r\n', size), [[1, "{}"]]);
  assert.throws(() => parts('{"invoices":[{}],\n"more":1}'), /^Error: line 1: unexpected text after/);
  assert.throws(() => parts("[{}]\n\n[{}]"), /line 3: unexpected text after the list of invoices/);
  assert.throws(() => parts("[{}]}"), /line 1: unexpected text after/);
});

test("a list that is not closed, has a gap or a too long record is refused with the line", () => {
  assert.throws(() => parts('[{},\n{"a":1'), /line 2: the list of invoices is not closed/);
  assert.throws(() => parts('{"invoices":[{}]'), /line 1: the list of invoices is not closed/);
  assert.throws(() => parts("[{},\n,{}]"), /line 2: a record is missing before ","/);
  assert.throws(() => parts("[{},]"), /line 1: a record is missing before "\]"/);
  assert.throws(() => parts(`[{},\n{"a":"${"x".repeat(200)}`, 30), /line 2: it is longer than 100 characters/);
});

test("JSONL, CSV and a list with another name are not lists", () => {
  assert.deepEqual(
    ['[{"a":1}]', '{"invoices": [', '{"id":"a"}', '{"transactions":[', "id,state"].map((text) =>
      isJsonList(text, "invoices"),
    ),
    [true, true, false, false, false],
  );
});
