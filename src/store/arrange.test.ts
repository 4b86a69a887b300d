import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import { arrange } from "./arrange.ts";
import { packInvoices } from "./packed.fixture.ts";
import { idsOf, type Packed, unpack } from "./packed.ts";

const invoice = (id: string, minute: number, customerId = "cus"): Invoice => ({
  id,
  state: "PAID",
  customerId,
  amount: minute,
  currency: "EUR",
  createdAt: new Date(0),
  updatedAt: new Date(minute * 60_000),
});
const arranged = (batches: readonly Packed<Invoice>[]) =>
  arrange(batches).map((wave) =>
    unpack(wave, ["id", "customerId", "amount"]).map(({ id, customerId, amount }) => [id, customerId, amount]),
  );
/** The ids of a list without one that stands twice. */
const idsIn = (batches: readonly Packed<Invoice>[]) => {
  const [wave, ...others] = arrange(batches);
  assert.equal(others.length, 0);
  return idsOf(wave!);
};

test("versions of one record are stored one after the other, in the order in which they came", () => {
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
  assert.deepEqual(arranged(packInvoices(...versions)), waves);
  const batches = versions.flatMap((version) => packInvoices(version));
  assert.deepEqual(arranged(batches), waves);
  assert.deepEqual(
    arrange(batches).map((wave) => idsOf(wave).map((_, index) => wave.batchOf(index))),
    [[1, 0], [3, 2], [4]],
  );
});

test("records are arranged by their ids, in whatever order they come", () => {
  const sorted = [invoice("B", 3), invoice("a", 1), invoice("é", 2)];
  const expected = [
    ["B", "cus", 3],
    ["a", "cus", 1],
    ["é", "cus", 2],
  ];
  assert.deepEqual(arranged(packInvoices(...sorted)), [expected]);
  assert.deepEqual(arranged(packInvoices(...sorted.toReversed())), [expected]);
  assert.deepEqual(idsIn(packInvoices(...sorted.toReversed())), ["B", "a", "é"]);
});

test("the first byte in which ids differ tells their order", () => {
  for (const sorted of [
    ["a9", "b1"],
    ["in_1z0000000", "in_2a0000000", "in_2b"],
    ["é9", "ê1"],
  ])
    assert.deepEqual(idsIn(packInvoices(...sorted.toReversed().map((id) => invoice(id, 1)))), sorted);
});

test("ids that are alike for long, or begin as others end, are told apart and sorted by their bytes", () => {
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
    const batches = ids.flatMap((id) => packInvoices(invoice(id, 1), invoice(id, 1)));
    assert.deepEqual(
      arrange(batches).map((wave) => idsOf(wave)),
      Array(2).fill(sorted.filter((id) => ids.includes(id))),
    );
  }
});

test("any batches come in waves, in which each id stands once and its versions stay in order", () => {
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
    const batches: Packed<Invoice>[] = [];
    for (let from = 0; from < copies.length; ) {
      const to = from + 1 + random(40);
      batches.push(...packInvoices(...copies.slice(from, to)));
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
      arranged(batches),
      expected.map((wave) =>
        wave
          .toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
          .map(({ id, customerId, amount }) => [id, customerId, amount]),
      ),
    );
  }
});
