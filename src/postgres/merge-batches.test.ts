import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import { mergeBatches } from "./merge-batches.ts";

const invoice = (id: string, minute: number, customerId = "cus"): Invoice => ({
  id,
  state: "PAID",
  customerId,
  amount: minute,
  currency: "EUR",
  createdAt: new Date(0),
  updatedAt: new Date(minute * 60_000),
});
const merged = (batches: readonly (readonly Invoice[])[]) =>
  mergeBatches(batches).map(({ rows }) => rows.map(({ id, customerId, amount }) => [id, customerId, amount]));
/** The ids of waves without duplicates. */
const mergedIds = (batches: readonly (readonly Invoice[])[]) => {
  const [wave, ...others] = mergeBatches(batches);
  assert.equal(others.length, 0);
  return wave!.rows.map(({ id }) => id);
};

test("versions of one record go to successive waves in the order of their arrival", () => {
  const versions = [
    invoice("b", 2),
    invoice("a", 1, "first"),
    invoice("b", 3),
    invoice("a", 1, "last"),
    invoice("b", 1),
  ];
  const waves = [
    [
      ["a", "first", 1],
      ["b", "cus", 2],
    ],
    [
      ["a", "last", 1],
      ["b", "cus", 3],
    ],
    [["b", "cus", 1]],
  ];
  assert.deepEqual(merged([versions]), waves);
  const batches = versions.map((version) => [version]);
  assert.deepEqual(merged(batches), waves);
  assert.deepEqual(
    mergeBatches(batches).map(({ batchIndexes }) => batchIndexes),
    [[1, 0], [3, 2], [4]],
  );
});

test("a merged batch is sorted by id, whatever the order of its records", () => {
  const sorted = [invoice("B", 3), invoice("a", 1), invoice("é", 2)];
  const expected = [
    ["B", "cus", 3],
    ["a", "cus", 1],
    ["é", "cus", 2],
  ];
  assert.deepEqual(merged([sorted]), [expected]);
  assert.deepEqual(merged([sorted.toReversed()]), [expected]);
  assert.deepEqual(mergedIds([sorted.toReversed()]), ["B", "a", "é"]);
});

test("ids are sorted by the first byte in which they differ", () => {
  for (const sorted of [
    ["a9", "b1"],
    ["in_1z0000000", "in_2a0000000", "in_2b"],
    ["é9", "ê1"],
  ])
    assert.deepEqual(mergedIds([sorted.toReversed().map((id) => invoice(id, 1))]), sorted);
});

test("long ids that share a prefix are distinct and sorted", () => {
  const long = "x".repeat(200);
  const sorted = [
    "b",
    "in_0000001",
    "in_0000001a",
    "in_0000001ab",
    "in_0000002",
    long,
    `${long}1`,
    `${long}12`,
    "é",
    "é1",
  ];
  for (const ids of [sorted, sorted.toReversed(), sorted.slice(1, 4).toReversed(), sorted.slice(5, 8).toReversed()]) {
    const batches = ids.map((id) => [invoice(id, 1), invoice(id, 1)]);
    assert.deepEqual(
      mergeBatches(batches).map(({ rows }) => rows.map(({ id }) => id)),
      Array(2).fill(sorted.filter((id) => ids.includes(id))),
    );
  }
});

test("random batches become waves without duplicate ids that keep the order of versions", () => {
  let state = 7;
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  const text = (most: number) => Array.from({ length: 1 + random(most) }, () => "ab9_é"[random(5)]).join("");
  for (let round = 0; round < 200; round++) {
    const prefix = text(9);
    const ids = Array.from({ length: 1 + random(60) }, () => prefix + text(1 + random(9)));
    const copies = Array.from({ length: 1 + random(100) }, () =>
      invoice(ids[random(ids.length)]!, random(4), text(random(2) === 0 ? 3 : 200)),
    );
    const batches: Invoice[][] = [];
    for (let from = 0; from < copies.length; ) {
      const to = from + 1 + random(40);
      batches.push(copies.slice(from, to));
      from = to;
    }
    const seen = new Map<string, number>();
    const expected: Invoice[][] = [];
    for (const version of copies) {
      const wave = seen.get(version.id) ?? 0;
      seen.set(version.id, wave + 1);
      expected[wave] = [...(expected[wave] ?? []), version];
    }
    assert.deepEqual(
      merged(batches),
      expected.map((wave) =>
        wave
          .toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
          .map(({ id, customerId, amount }) => [id, customerId, amount]),
      ),
    );
  }
});
