import assert from "node:assert/strict";
import { test } from "node:test";
import { cardBrandName, paymentMethodName } from "./payment-method-names.ts";

test("payment methods and brands are written as people write them, and unknown ones stay unchanged", () => {
  for (const [pushed, words] of [
    ["sepa_debit", "SEPA debit"],
    ["us_bank_account", "ACH debit"],
    ["bacs", "Bacs debit"],
    ["paypal", "PayPal"],
    ["card", "card"],
    ["visa", "Visa"],
    ["klarna", "klarna"],
    ["constructor", "constructor"],
  ] as const)
    assert.equal(paymentMethodName(pushed), words);
  for (const [pushed, words] of [
    ["amex", "American Express"],
    ["American Express", "American Express"],
    ["MASTERCARD", "Mastercard"],
    ["jcb", "JCB"],
    ["cup", "UnionPay"],
    ["cartebancaire", "Cartes Bancaires"],
    ["Hipercard", "Hipercard"],
  ] as const)
    assert.equal(cardBrandName(pushed), words);
});
