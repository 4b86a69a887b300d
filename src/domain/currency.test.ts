import assert from "node:assert/strict";
import { test } from "node:test";
import { moneyWords } from "./currency.ts";

test("an amount is written with its currency first, thousands apart, and as many decimals as the currency has", () => {
  assert.equal(moneyWords(4900, "EUR"), "EUR 49.00");
  assert.equal(moneyWords(123_456_789, "USD"), "USD 1,234,567.89");
  assert.equal(moneyWords(4900, "JPY"), "JPY 4,900");
  assert.equal(moneyWords(1_234_567, "KWD"), "KWD 1,234.567");
});
