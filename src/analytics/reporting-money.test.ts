import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseView, convertSums, sumInView } from "./reporting-money.ts";

const EUROS = {
  currency: "EUR",
  rates: new Map([
    ["USD", "0.92"],
    ["JPY", "0.0061"],
    ["KWD", "3.01"],
  ]),
  setAt: new Date(0),
};

test("sums are converted exactly between currencies with other numbers of decimals, and rounded once per currency", () => {
  assert.equal(convertSums([{ currency: "EUR", amount: "12345" }], EUROS), 12_345n);
  assert.equal(convertSums([{ currency: "USD", amount: 100 }], EUROS), 92n);
  // 1,000 yen are EUR 6.10, and 1.234 dinars EUR 3.71434.
  assert.equal(convertSums([{ currency: "JPY", amount: 1_000 }], EUROS), 610n);
  assert.equal(convertSums([{ currency: "KWD", amount: 1_234 }], EUROS), 371n);
  assert.equal(convertSums([{ currency: "USD", amount: "90071992547409910" }], EUROS), 82_866_233_143_617_117n);
  assert.equal(convertSums([{ currency: "GBP", amount: 1 }], EUROS), null, "without a rate there is no sum");
});

test("amounts of several currencies are added only if the merchant gave all rates", () => {
  const sums = [
    { currency: "EUR", amount: "100" },
    { currency: "USD", amount: "100" },
  ];
  const amountOf = ({ amount }: { amount: string }) => amount;
  const all = chooseView(["EUR", "USD"], EUROS, undefined);
  assert.deepEqual([all.isConverted, sumInView(sums, amountOf, all)], [true, 192n]);
  const dollars = chooseView(["EUR", "USD"], EUROS, "USD");
  assert.deepEqual([dollars.isConverted, sumInView(sums, amountOf, dollars)], [false, 100n]);
  for (const [currencies, rates] of [
    [["EUR", "GBP"], EUROS],
    [["EUR", "USD"], null],
  ] as const) {
    const view = chooseView(currencies, rates, "all");
    assert.deepEqual([view.isConverted, view.canConvert, view.currency], [false, false, "EUR"]);
  }
});
