import assert from "node:assert/strict";
import { test } from "node:test";
import { minorDigitsOf } from "../domain/currency.ts";
import { toUsd } from "./us-dollars.ts";

test("an amount in dollars is the same when its currency is in lower case", () => {
  assert.equal(toUsd(1_600_000, "IDR"), 1);
  assert.equal(toUsd(1_600_000, "idr"), 1);
  assert.equal(toUsd(150, "jpy"), 1);
  assert.equal(toUsd(150, "XTS"), 1.5);
  // One dinar is a thousand fils.
  assert.ok(toUsd(1000, "KWD") > 3 && toUsd(1000, "KWD") < 3.5);
});

test("every currency with an unusual minor unit has a rate, and common amounts are not taken for cents", () => {
  const letters = Array.from({ length: 26 }, (_, n) => String.fromCharCode(65 + n));
  const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => a + b + c)));
  const others = codes.filter((code) => minorDigitsOf(code) !== 2);
  assert.equal(others.length, 26);
  assert.deepEqual(
    others.filter((code) => toUsd(100, code) === 1),
    [],
  );
  // 10,000 francs, 25,000 dinars and 500 dirhams.
  for (const [amount, currency, least, most] of [
    [10_000, "XOF", 15, 19],
    [25_000_000, "IQD", 17, 21],
    [50_000, "MAD", 45, 60],
  ] as const) {
    const dollars = toUsd(amount, currency);
    assert.ok(dollars > least && dollars < most, `${currency}: ${dollars}`);
  }
});
