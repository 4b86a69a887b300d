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
  unpack(arrange(batches), ["id", "customerId", "amount"]).map(({ id, customerId, amount }) => [
    id,
    customerId,
    amount,
  ]);

test("of records with the same id the newest stays, and of equally new ones the last, in one batch and over several", () => {
  const copies = [invoice("b", 2), invoice("a", 1, "first"), invoice("b", 3), invoice("a", 1, "last"), invoice("b", 1)];
  const newest = [
    ["a", "last", 1],
    ["b", "cus", 3],
  ];
  assert.deepEqual(arranged(packInvoices(...copies)), newest);
  assert.deepEqual(arranged(copies.flatMap((copy) => packInvoices(copy))), newest);
});

test("records are arranged by their ids, in whatever order they come", () => {
  const sorted = [invoice("B", 3), invoice("a", 1), invoice("é", 2)];
  const expected = [
    ["B", "cus", 3],
    ["a", "cus", 1],
    ["é", "cus", 2],
  ];
  assert.deepEqual(arranged(packInvoices(...sorted)), expected);
  assert.deepEqual(arranged(packInvoices(...sorted.toReversed())), expected);
  assert.deepEqual(idsOf(arrange(packInvoices(...sorted.toReversed()))), ["B", "a", "é"]);
});

test("the first byte in which ids differ tells their order", () => {
  for (const sorted of [
    ["a9", "b1"],
    ["in_1z0000000", "in_2a0000000", "in_2b"],
    ["é9", "ê1"],
  ])
    assert.deepEqual(idsOf(arrange(packInvoices(...sorted.toReversed().map((id) => invoice(id, 1))))), sorted);
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
      idsOf(arrange(batches)),
      sorted.filter((id) => ids.includes(id)),
    );
  }
});

test("of two moments that differ by a millisecond the later one is the newer, before the year 2000 too", () => {
  for (const ms of [0, Date.UTC(1999, 11, 31, 23, 59, 59, 999), Date.UTC(2106, 1, 7, 6, 28, 15)]) {
    const copy = (more: number) => ({ ...invoice("a", 0, `${more}`), updatedAt: new Date(ms + more) });
    assert.deepEqual(arranged(packInvoices(copy(1), copy(0))), [["a", "1", 0]]);
    assert.deepEqual(arranged(packInvoices(copy(0), copy(1))), [["a", "1", 0]]);
  }
});

test("of any batches that stays which sorting all copies by id, moment and place says", () => {
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
    const byId = (a: Invoice, b: Invoice) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id));
    const sorted = copies.toSorted((a, b) => byId(a, b) || a.amount - b.amount);
    const stay = sorted.filter(({ id }, index) => sorted[index + 1]?.id !== id);
    assert.deepEqual(
      arranged(batches),
      stay.map(({ id, customerId, amount }) => [id, customerId, amount]),
    );
  }
});
