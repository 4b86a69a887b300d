import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMajorUnits, formatMoneyText } from "./currency.ts";

test("an amount is written with its currency first, thousands separators, and the decimals of the currency", () => {
  assert.equal(formatMoneyText(4900, "EUR"), "EUR 49.00");
  assert.equal(formatMoneyText(123_456_789, "USD"), "USD 1,234,567.89");
  assert.equal(formatMoneyText(4900, "JPY"), "JPY 4,900");
  assert.equal(formatMoneyText(1_234_567, "KWD"), "KWD 1,234.567");
});

test("an amount is exact at any size, even beyond the range of numbers", () => {
  assert.equal(formatMoneyText(9_007_199_254_740_990, "USD"), "USD 90,071,992,547,409.90");
  assert.equal(formatMoneyText("9007199254740993", "USD"), "USD 90,071,992,547,409.93");
  assert.equal(formatMajorUnits(9007199254740993n, "JPY"), "9007199254740993");
});

test("a negative amount has its sign before the digits, and fractions are rounded to minor units", () => {
  assert.equal(formatMoneyText(-5, "EUR"), "EUR -0.05");
  assert.equal(formatMoneyText(-123_456, "USD"), "USD -1,234.56");
  assert.equal(formatMoneyText("-900", "JPY"), "JPY -900");
  assert.equal(formatMajorUnits(-50n, "USD"), "-0.50");
  assert.equal(formatMoneyText(1234.5, "USD"), "USD 12.35");
  assert.equal(formatMoneyText(-0.4, "USD"), "USD 0.00");
});
