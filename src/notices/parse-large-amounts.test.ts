import assert from "node:assert/strict";
import { test } from "node:test";
import { formatLargeAmounts, parseLargeAmounts } from "./parse-large-amounts.ts";

test("amounts are read in major units of their currency, and written as they are read", () => {
  const amounts = [
    { currency: "EUR", amount: 50_000 },
    { currency: "JPY", amount: 60_000 },
    { currency: "USD", amount: 120_050 },
  ];
  assert.deepEqual(parseLargeAmounts("USD 1,200.50, EUR=500,JPY 60000"), amounts);
  assert.deepEqual(parseLargeAmounts(formatLargeAmounts(amounts)), amounts);
  assert.deepEqual(parseLargeAmounts(""), []);
  assert.deepEqual(parseLargeAmounts("none"), []);
});

test("an amount that is not clear is refused with its text", () => {
  for (const text of ["500", "EUR", "EUR 0", "EUR -5", "eur 5", "EUR 99999999999999999"])
    assert.match(String(parseLargeAmounts(text)), /is not an amount with a currency/, text);
  assert.equal(parseLargeAmounts("JPY 5.5"), '"JPY 5.5": an amount in JPY has no decimals.');
  assert.equal(parseLargeAmounts("EUR 5.001"), '"EUR 5.001": an amount in EUR has at most 2 decimals.');
  assert.equal(parseLargeAmounts("ZZZ 5"), '"ZZZ 5": ZZZ is no currency of ISO 4217. Check its three letters.');
  assert.equal(parseLargeAmounts("EUR 5, EUR 6"), "EUR occurs twice.");
});
