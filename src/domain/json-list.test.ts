import assert from "node:assert/strict";
import { test } from "node:test";
import { createJsonListSplitter, isJsonList } from "./json-list.ts";

/** The records of a text that comes in pieces of one size. */
function parts(text: string, size = text.length) {
  const list = createJsonListSplitter("invoices", 100);
  const found: [record: number, json: string][] = [];
  for (let at = 0; at < text.length; at += size)
    for (const { record, json } of list.take(text.slice(at, at + size))) found.push([record, json]);
  list.end();
  return found;
}

test("a list is parted into its records, wherever a piece of it ends", () => {
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

test("a body as the API takes it is a list, and nothing may stand behind it", () => {
  for (const size of [1, 50]) assert.deepEqual(parts('{\r\n "invoices" : [\r\n{}]\r\n}\r\n', size), [[1, "{}"]]);
  assert.throws(() => parts('{"invoices":[{}],\n"more":1}'), /^Error: line 1: something stands behind/);
  assert.throws(() => parts("[{}]\n\n[{}]"), /line 3: something stands behind the list of invoices/);
  assert.throws(() => parts("[{}]}"), /line 1: something stands behind/);
});

test("a list without an end, with a hole or with an endless record is refused where that shows", () => {
  assert.throws(() => parts('[{},\n{"a":1'), /line 2: the list of invoices has no end/);
  assert.throws(() => parts('{"invoices":[{}]'), /line 1: the list of invoices has no end/);
  assert.throws(() => parts("[{},\n,{}]"), /line 2: a record is missing before ","/);
  assert.throws(() => parts("[{},]"), /line 1: a record is missing before "\]"/);
  assert.throws(() => parts(`[{},\n{"a":"${"x".repeat(200)}`, 30), /line 2: it is longer than 100 characters/);
});

test("a record of JSONL and a CSV are no list, and a list of another name is none", () => {
  assert.deepEqual(
    ['[{"a":1}]', '{"invoices": [', '{"id":"a"}', '{"transactions":[', "id,state"].map((text) =>
      isJsonList(text, "invoices"),
    ),
    [true, true, false, false, false],
  );
});
