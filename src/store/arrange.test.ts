import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import { arrange } from "./arrange.ts";
import { packInvoices } from "./packed.fixture.ts";
import { type Packed, unpack } from "./packed.ts";

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
  assert.deepEqual(arrange(packInvoices(...sorted.toReversed())).ids, ["B", "a", "é"]);
});

test("of two moments that differ by a millisecond the later one is the newer, before the year 2000 too", () => {
  for (const ms of [0, Date.UTC(1999, 11, 31, 23, 59, 59, 999), Date.UTC(2106, 1, 7, 6, 28, 15)]) {
    const copy = (more: number) => ({ ...invoice("a", 0, `${more}`), updatedAt: new Date(ms + more) });
    assert.deepEqual(arranged(packInvoices(copy(1), copy(0))), [["a", "1", 0]]);
    assert.deepEqual(arranged(packInvoices(copy(0), copy(1))), [["a", "1", 0]]);
  }
});
