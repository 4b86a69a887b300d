import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { encodeBinaryArray } from "./binary-array.ts";
import { prepared } from "./database.ts";
import { sqlState } from "./database-errors.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ECHO = prepared(
  "test_bind",
  `select $1::text as text, $2::text[] as texts, $3::int8 as number, $4::timestamptz as at, cardinality($5::text[]) as count,
     (select md5(string_agg(t, ',' order by n)) from unnest($5::text[]) with ordinality as u (t, n)) as digest,
     $6::bytea as bytes, $7::jsonb as json`,
);
const DIGEST = prepared("test_bind_digest", "select md5($1) as digest");

test("parameters of any length, including none, arrive unchanged", async () => {
  const at = new Date("2026-03-29T01:30:00.001Z");
  for (const length of [0, 1, 2_000, 2_047, 2_048, 2_049, 70_000, 1_000_000]) {
    const texts = length === 0 ? [] : ["ä", "x".repeat(length), ""];
    const array = encodeBinaryArray(
      texts.map((text) => ({ text })),
      "text",
      "text",
    );
    const bytes = Buffer.alloc(length, 7);
    const text = "y".repeat(length);
    const { rows } = await database.db.run(ECHO, [text, ["a", 'b"'], 12, at, array, bytes, { a: [1] }]);
    const digest = length === 0 ? null : (await database.db.run(DIGEST, [texts.join(",")])).rows[0]!.digest;
    const expected = { text, texts: ["a", 'b"'], number: 12, at, count: texts.length, digest, bytes, json: { a: [1] } };
    assert.deepEqual(rows, [expected]);
  }
  const { rows } = await database.db.run(ECHO, [null, null, null, null, null, null, null]);
  assert.ok(Object.values(rows[0]!).every((value) => value === null));
});

test("a connection works after a statement whose parameters are rejected", async () => {
  const run = (first: unknown) => database.db.run(ECHO, [first, null, null, null, null, null, null]);
  await assert.rejects(run("a\0b"), (error) => sqlState(error) === "22021");
  assert.equal((await run("fine")).rows[0]!.text, "fine");
});

test("null is sent as null, and the maximum number of parameters is accepted", async () => {
  const aclitem = prepared("test_bind_null", "select $1::aclitem as value");
  assert.deepEqual((await database.db.run(aclitem, [null])).rows, [{ value: null }]);
  const many = Array.from({ length: 40_000 }, (_, n) => n);
  const all = prepared("test_bind_many", `select cardinality(array[${many.map((n) => `$${n + 1}::int8`)}]) as count`);
  assert.deepEqual((await database.db.run(all, many)).rows, [{ count: 40_000 }]);
});
