import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { encodeBinaryArray } from "./binary-array.ts";
import { prepared } from "./database.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ID = "0198c4b2-7a1e-7c3d-9f00-ffeeddccbbaa";
const SAMPLES: Record<string, unknown[]> = {
  bool: [true, false, null],
  int2: [0, -1, 32767, -32768, null],
  int4: [0, -1, 2 ** 31 - 1, -(2 ** 31), null],
  int8: [0, 1, -1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, null],
  timestamptz: [
    "1970-01-01T00:00:00.000Z",
    "1999-12-31T23:59:59.999Z",
    "2026-03-29T01:30:00.001Z",
    "2228-01-01T00:00:00.000Z",
  ].map((text) => new Date(text)),
  uuid: [ID, "ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000", null],
  text: ["", "NULL", 'a "b" \\ {c},d', "Grüße, 世界 🎉", " \t\n", "x".repeat(200_000), null],
};

for (const [type, values] of Object.entries(SAMPLES)) {
  test(`an array of ${type} is stored unchanged`, async () => {
    const rows = values.map((value) => ({ value }));
    const statement = prepared(
      `test_array_${type}`,
      `select v from unnest($1::${type}[]) with ordinality as u (v, n) order by n`,
    );
    for (const some of [rows, []]) {
      const found = await database.db.run<{ v: unknown }>(statement, [encodeBinaryArray(some, "value", type)]);
      assert.deepEqual(
        found.rows.map(({ v }) => v),
        some.map(({ value }) => value),
      );
    }
  });
}

test("text columns are stored unchanged, whether or not they are short ASCII", async () => {
  const statement = prepared(
    "test_array_short",
    "select v from unnest($1::text[]) with ordinality as u (v, n) order by n",
  );
  const x = (length: number) => "x".repeat(length);
  for (const values of [
    ["", "a", x(126), x(127)],
    ["a", x(128)],
    [x(127), "é"],
    ["é", x(126)],
    ["a", null],
    Array(5000).fill(x(120)),
  ]) {
    const rows = values.map((value) => ({ value }));
    const found = await database.db.run<{ v: unknown }>(statement, [encodeBinaryArray(rows, "value", "text")]);
    assert.deepEqual(
      found.rows.map(({ v }) => v),
      values,
    );
  }
});

test("a UUID is rejected when any character is invalid", () => {
  for (let place = 0; place < ID.length; place++)
    for (const wrong of ["g", " ", "\u0430", "\u0131", ID[place] === "-" ? "0" : "-"]) {
      const value = ID.slice(0, place) + wrong + ID.slice(place + 1);
      assert.throws(() => encodeBinaryArray([{ value }], "value", "uuid"), value);
    }
  for (const value of [`${ID}0`, ID.slice(1), "", ID.replaceAll("-", "")])
    assert.throws(() => encodeBinaryArray([{ value }], "value", "uuid"), value);
});

test("an array of jsonb is encoded from texts", async () => {
  const rows = [{ value: '[{"code": "é"}]' }, { value: undefined }];
  const statement = prepared("test_array_jsonb", "select unnest($1::jsonb[]) as v");
  const found = await database.db.run<{ v: unknown }>(statement, [encodeBinaryArray(rows, "value", "jsonb")]);
  assert.deepEqual(
    found.rows.map(({ v }) => v),
    [[{ code: "é" }], null],
  );
});

test("a value of the wrong type is rejected before it is sent", () => {
  const arrayOf = (value: unknown, type: string) => () => encodeBinaryArray([{ value }], "value", type);
  assert.throws(arrayOf(new Date(Number.NaN), "timestamptz"));
  assert.throws(arrayOf(1.5, "int8"));
  assert.throws(arrayOf(2 ** 53, "int8"));
  assert.throws(arrayOf(2 ** 31, "int4"));
  assert.throws(arrayOf("0198c4b2", "uuid"));
  assert.throws(arrayOf(7, "text"));
  assert.throws(arrayOf("x", "bytea"));
});
