import assert from "node:assert/strict";
import { test } from "node:test";
import { assumptions, bookWords, judgedWords } from "./words.ts";

test("a book in a sentence has its counts and amounts as people write them", () => {
  const book = {
    currency: "EUR",
    invoices: 12_345,
    recovered: 1_234,
    amount: 5_000_000,
    recoveredAmount: 500_000,
    ways: [],
  };
  assert.equal(
    bookWords(book),
    "12,345 invoices over EUR 50,000.00 failed, and your system recovered 1,234 of them (10.0%): EUR 5,000.00, 10.0% of the money.",
  );
});

test("one invoice is one", () => {
  const book = { currency: "EUR", invoices: 2, recovered: 1, amount: 9_800, recoveredAmount: 4_900, ways: [] };
  const seldom = { depth: 1, why: "few", effective: 1.2, unseen: 0 } as const;
  assert.match(
    judgedWords({ words: "six even tries", money: seldom }, book),
    /weighs as much as 1 invoice, and 200 are needed/,
  );
  const moment = new Date(0);
  const none = {
    from: moment,
    to: moment,
    attempts: 2,
    leftOut: 0,
    problems: [],
    books: [],
    firstGaps: [],
    groups: [],
  };
  const tooYoung = (invoices: number) => assumptions({ ...none, chancesKnown: true, tooYoung: invoices }).at(-1);
  assert.equal(tooYoung(1), "1 failed invoice is left out because its 28 days were not over.");
  assert.equal(tooYoung(2_000), "2,000 failed invoices are left out because their 28 days were not over.");
});
