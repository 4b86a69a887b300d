import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type TestDatabase, testDatabase } from "../../test/database.ts";
import { type Arranged, arrange } from "./arrange.ts";
import type { Column } from "./batch.ts";
import { binaryArray } from "./binary-array.ts";
import { prepared } from "./database.ts";
import { countTexts, placesWith, unpack } from "./packed.ts";
import { createPacker, pack } from "./packer.ts";

let database: TestDatabase;
before(async () => {
  database = await testDatabase();
});
after(() => database.drop());

interface Thing {
  id: string;
  name?: string | undefined;
  amount?: number;
  month?: number;
  isNew?: boolean;
  updatedAt: Date;
}
const COLUMNS: readonly Column<Thing>[] = [
  ["id", "text", "id"],
  ["name", "text", "name"],
  ["amount", "int8", "amount"],
  ["month", "int4", "month"],
  ["is_new", "bool", "isNew"],
  ["updated_at", "timestamptz", "updatedAt"],
];
const packer = createPacker(COLUMNS);
const FIELDS = ["id", "name", "amount", "month", "isNew", "updatedAt"] as const;

const at = (text: string) => new Date(text);
const THINGS: readonly Thing[] = [
  { id: "b", updatedAt: at("1970-01-01T00:00:00.000Z") },
  { id: "a", name: "", amount: 0, month: 0, isNew: false, updatedAt: at("1999-12-31T23:59:59.999Z") },
  { id: "c", name: "Grüße, 世界 🎉", amount: Number.MAX_SAFE_INTEGER, updatedAt: at("2199-12-31T23:59:59.999Z") },
  {
    id: "e",
    name: "x".repeat(9_000),
    amount: 2 ** 32,
    month: 2 ** 31 - 1,
    isNew: true,
    updatedAt: at("2026-03-29T01:30:00.001Z"),
  },
  { id: "d", name: "ñ", amount: 2 ** 31, month: -1, updatedAt: at("2026-03-29T01:30:00.000Z") },
];

test("records are unpacked as they were packed, and what is not known stays so", () => {
  assert.deepEqual(unpack(pack(packer, THINGS), FIELDS), THINGS);
  assert.deepEqual(
    unpack(pack(packer, THINGS), ["month", "id"]),
    THINGS.map(({ id, month }) => (month === undefined ? { id } : { id, month })),
  );
  assert.deepEqual(unpack(pack(packer, []), FIELDS), []);
  assert.deepEqual(unpack(pack(packer, THINGS), FIELDS, [4, 0]), [THINGS[4], THINGS[0]]);
});

test("arrays of packed records arrive in PostgreSQL as they were, sorted by id", async () => {
  const statement = prepared(
    "test_packed",
    `select unnest($1::text[]) as id, unnest($2::text[]) as name, unnest($3::int8[]) as amount, unnest($4::int4[]) as month,
       unnest($5::bool[]) as "isNew", unnest($6::timestamptz[]) as "updatedAt"`,
  );
  const [{ arrays }] = arrange([pack(packer, THINGS.slice(0, 2)), pack(packer, THINGS.slice(2))]) as [Arranged<Thing>];
  const { rows } = await database.db.run<Thing>(statement, arrays);
  const sorted = THINGS.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const nulls = { name: null, amount: null, month: null, isNew: null };
  assert.deepEqual(
    rows,
    sorted.map((thing) => ({ ...nulls, ...thing })),
  );
});

test("arrays of packed records are those that are written from rows, also where memory is just used up", () => {
  const many = Array.from({ length: 1_000 }, (_, n): Thing => ({ ...THINGS[1]!, id: String(n).padStart(4, "0") }));
  // The last element is twelve bytes long, or five.
  for (const columns of [COLUMNS, COLUMNS.toReversed()])
    for (const things of [[THINGS[0]!], [THINGS[1]!], [THINGS[3]!], many]) {
      // A packer of its own has as little memory as there is at first.
      const [{ arrays }] = arrange([pack(createPacker(columns), things)]) as [Arranged<Thing>];
      assert.deepEqual(
        arrays,
        columns.map(([, type, field]) => binaryArray(things, field, type)),
      );
    }
});

test("what was packed before is not touched by what is packed later", () => {
  const first = pack(packer, THINGS);
  pack(
    packer,
    THINGS.map((thing) => ({ ...thing, name: "another" })),
  );
  assert.deepEqual(unpack(first, FIELDS), THINGS);
});

test("the texts of a field are counted, in runs and apart, where they are known", () => {
  const named = (name: string | undefined, n: number): Thing => ({
    id: `${n}`,
    name,
    updatedAt: at("2026-01-01T00:00:00Z"),
  });
  const names = ["EUR", "EUR", "USD", "EUR", undefined, "US", "USD", "USD"];
  const counts = countTexts(pack(packer, names.map(named)), "name");
  assert.deepEqual(
    [...counts],
    [
      ["EUR", 3],
      ["USD", 3],
      ["US", 1],
    ],
  );
});

test("records are found by the texts of a field, from end to end", () => {
  const names = ["a", "ab", "é", "", undefined, "b", "ab"];
  const things = names.map((name, n): Thing => ({ id: `${n}`, name, updatedAt: at("2026-01-01T00:00:00Z") }));
  const places = (...texts: string[]) =>
    placesWith(
      pack(packer, things),
      "name",
      texts.map((text) => Buffer.from(text)),
    );
  assert.deepEqual(places("ab", "é"), [1, 2, 6]);
  assert.deepEqual(places("b"), [5]);
  assert.deepEqual(places("abc"), []);
});
