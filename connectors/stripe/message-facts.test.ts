import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalLanguage, formatAmount } from "./message-facts.ts";

test("amounts are shown in the customer's language, with the decimals of Stripe's units", () => {
  const plain = (text: string) => text.replaceAll(/\s/g, " ");
  assert.equal(plain(formatAmount(4900, "eur", "de")), "49,00 €");
  assert.equal(plain(formatAmount(4900, "usd")), "$49.00");
  assert.equal(plain(formatAmount(4900, "jpy", "en")), "¥4,900");
  assert.equal(plain(formatAmount(12_345, "kwd", "en")), "KWD 12.345");
  assert.equal(plain(formatAmount(500_000, "ugx", "en")), "UGX 5,000");
  assert.equal(plain(formatAmount(500_000, "isk", "en")), "ISK 5,000");
});

test("a language with an underscore is read, and a text that is no language is left out", () => {
  assert.deepEqual(["de_AT", "pt-br", "", "no language", "EN"].flatMap(canonicalLanguage), ["de-AT", "pt-BR", "en"]);
});
