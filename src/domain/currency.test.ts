import assert from "node:assert/strict";
import { test } from "node:test";
import { majorText, moneyWords } from "./currency.ts";

test("an amount is written with its currency first, thousands apart, and as many decimals as the currency has", () => {
  assert.equal(moneyWords(4900, "EUR"), "EUR 49.00");
  assert.equal(moneyWords(123_456_789, "USD"), "USD 1,234,567.89");
  assert.equal(moneyWords(4900, "JPY"), "JPY 4,900");
  assert.equal(moneyWords(1_234_567, "KWD"), "KWD 1,234.567");
});

test("an amount is exact at any size, also as text of a sum that no number holds", () => {
  assert.equal(moneyWords(9_007_199_254_740_990, "USD"), "USD 90,071,992,547,409.90");
  assert.equal(moneyWords("9007199254740993", "USD"), "USD 90,071,992,547,409.93");
  assert.equal(majorText(9007199254740993n, "JPY"), "9007199254740993");
});
