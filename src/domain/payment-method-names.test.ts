import assert from "node:assert/strict";
import { test } from "node:test";
import { cardBrandName, paymentMethodName, updateFormerSentences } from "./payment-method-names.ts";

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

test("sentences of earlier versions are rewritten in today's words, and today's sentences stay unchanged", () => {
  const said = (by: string) => `EUR 49.00 is due, to be paid by ${by}. Local time is that of UTC.`;
  for (const [then, now] of [
    ["sepa_debit", "SEPA debit"],
    ["card (visa debit, DE)", "card (Visa debit, DE)"],
    ["card (amex, US)", "card (American Express, US)"],
    ["card (debit, DE, issued by visa)", "card (debit, DE, issued by visa)"],
    ["card (DE)", "card (DE)"],
    ["a payment method that was not named", "a payment method that was not named"],
  ] as const) {
    assert.deepEqual(updateFormerSentences([said(then)]), [said(now)]);
    assert.deepEqual(updateFormerSentences([said(now)]), [said(now)]);
  }
  assert.deepEqual(updateFormerSentences(["A try failed."]), ["A try failed."]);
});
