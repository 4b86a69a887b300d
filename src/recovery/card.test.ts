import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transaction } from "../domain/transaction.ts";
import { currentCard, mayUseCard } from "./card.ts";

/** `1:Am` is an attempt on invoice 1 with card fingerprint A and payment method m; `-` marks a missing field. */
const parseAttempts = (texts: string) =>
  texts.split(" ").map((text, at) => {
    const [, invoiceId, fingerprint, method] = /^(\d):(.)(.)$/.exec(text)!;
    return {
      id: String(at),
      invoiceId,
      customerId: "c",
      createdAt: new Date(at),
      cardFingerprint: fingerprint === "-" ? undefined : fingerprint,
      paymentMethodId: method === "-" ? undefined : method,
    } as Transaction;
  });
const currentCardOf = (texts: string) => {
  const card = currentCard({ case: { customerId: "c" }, invoice: { id: "1" }, transactions: parseAttempts(texts) });
  return card && `${card.fingerprint ?? "-"}${card.paymentMethodId ?? "-"}`;
};

test("the current card is that of the invoice's latest attempt, or one first seen after it", () => {
  assert.equal(currentCardOf("2:Bm"), "Bm");
  assert.equal(currentCardOf("1:Am 2:Bn"), "Bn");
  assert.equal(currentCardOf("2:Bn 1:Am 2:Bn"), "Am");
  assert.equal(currentCardOf("1:Am 2:Bn 2:Am"), "Am");
  assert.equal(currentCardOf("1:Am 1:Bn 2:Am"), "Bn");
  assert.equal(currentCardOf("2:Bn 1:Am 2:Cn"), "Cn");
  assert.equal(currentCardOf("1:-m 2:Bm"), "Bm");
});

test("a card is known before exactly when comparing the attempts one by one says so, even with missing fields", () => {
  const cards = ["Am", "Bm", "An", "Bn", "A-", "B-", "-m", "-n"];
  for (const one of cards)
    for (const two of cards)
      for (const later of cards) {
        const [first, second, own, last] = parseAttempts(`2:${one} 2:${two} 1:Xy 2:${later}`);
        const card = { fingerprint: last!.cardFingerprint ?? null, paymentMethodId: last!.paymentMethodId ?? null };
        const isKnown = mayUseCard(first!, card) || mayUseCard(second!, card);
        const isOwn = mayUseCard(own!, card) && mayUseCard(last!, { fingerprint: "X", paymentMethodId: "y" });
        const expected = isKnown || isOwn ? "Xy" : later;
        assert.equal(
          currentCardOf(`2:${one} 2:${two} 1:Xy 2:${later}`)?.replace("-", ""),
          expected.replace("-", ""),
          `${one} ${two} ${later}`,
        );
      }
});
