import assert from "node:assert/strict";
import { test } from "node:test";
import { bookWords } from "./words.ts";

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
