import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Transaction } from "../domain/transaction.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, openStage } from "./stage.fixture.ts";

// A block outlasts the limits, which forget old declines.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const daysAgo = (days: number) => ({ createdAt: new Date(stage.now().getTime() - days * DAY) });
const buildEarlierAttempt = (days: number, overrides: Partial<Transaction>) =>
  stage.transaction({ invoiceId: `inv_${days}`, ...daysAgo(days), ...overrides });
const PAID = { state: "PAID", networkDeclineCode: undefined } as const;

/** Returns the planned action of an invoice that was just declined for lack of money. */
async function loadPlannedRetry() {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const [action] = await stage.actions();
  const { decisions } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  return { type: action?.type, reasons: decisions.at(-1)!.account.reasons.join(" ") };
}

test("a card reported lost a year ago is not retried, whichever invoice reported it", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  const { type, reasons } = await loadPlannedRetry();
  assert.equal(type, "CARD_CHANGE");
  assert.match(
    reasons,
    /An attempt on another invoice failed: the card was reported lost \(code 41\).*Visa does not allow another attempt/,
  );
});

test("such a card is retried when the merchant has charged it successfully since, or when only a limit was reached then", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  await buildEarlierAttempt(330, PAID);
  await buildEarlierAttempt(300, { networkDeclineCode: "51" });
  assert.equal((await loadPlannedRetry()).type, "RETRY");
});

test("such a card stays blocked when the charge was earlier, for no money, made by the customer, or on another card", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  await buildEarlierAttempt(365, PAID);
  await buildEarlierAttempt(330, { ...PAID, amount: 0 });
  await buildEarlierAttempt(329, { ...PAID, initiator: "CUSTOMER" });
  await buildEarlierAttempt(328, { ...PAID, cardFingerprint: "fp_2" });
  assert.equal((await loadPlannedRetry()).type, "CARD_CHANGE");
});

test("a revoked consent stays revoked, whatever was approved since", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "R1" });
  await buildEarlierAttempt(200, PAID);
  await buildEarlierAttempt(30, PAID);
  assert.equal((await loadPlannedRetry()).type, "CARD_CHANGE");
});

test("another customer's decline blocks the same card too", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41", customerId: "cus_2" });
  assert.equal((await loadPlannedRetry()).type, "CARD_CHANGE");
});

test("all old declines and charges that affect a block are read", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  await buildEarlierAttempt(300, { networkDeclineCode: "51" });
  assert.equal((await loadPlannedRetry()).type, "CARD_CHANGE", "a milder decline since");
  merchantId = (await stage.enter()).id;
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  await buildEarlierAttempt(370, PAID);
  await buildEarlierAttempt(340, PAID);
  await buildEarlierAttempt(330, { ...PAID, state: "DISPUTED" });
  assert.equal((await loadPlannedRetry()).type, "CARD_CHANGE", "disputed since");
  merchantId = (await stage.enter()).id;
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  await buildEarlierAttempt(370, PAID);
  await buildEarlierAttempt(340, PAID);
  await buildEarlierAttempt(330, { ...PAID, state: "VOIDED" });
  assert.equal((await loadPlannedRetry()).type, "RETRY", "the newest that went through");
});

test("a substitute card is blocked for as long as the current card", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41", cardFingerprint: "fp_2", customerId: "cus_9" });
  await stage.invoice();
  await stage.transaction(daysAgo(3 / 24));
  await stage.transaction({ cardFingerprint: "fp_2", ...daysAgo(2 / 24) });
  assert.equal((await loadPlannedRetry()).type, "CARD_CHANGE");
});

test("a 30-day limit counts 30 days of attempts", async () => {
  await buildEarlierAttempt(364, { networkDeclineCode: "41" });
  await buildEarlierAttempt(330, PAID);
  await buildEarlierAttempt(40, { networkDeclineCode: "51" });
  await buildEarlierAttempt(20, { networkDeclineCode: "51" });
  await loadPlannedRetry();
  const { decisions } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const known = decisions.at(-1)!.account.known.join(" ");
  assert.match(known, /Counted so far: 2\./);
  assert.match(known, /\. 1 declined or unanswered attempt on another invoice counts toward this card.s limits/);
});

test("the declines of a replacement card count when another customer of the same card replaced it", async () => {
  const theirs = { invoiceId: "inv_9", customerId: "cus_9" };
  await stage.transaction({ ...theirs, cardFingerprint: "fp_1", state: "PAID", ...daysAgo(1) });
  await stage.invoice();
  await stage.transaction({ cardFingerprint: "fp_1" });
  await stage.decide();
  assert.equal((await stage.actions()).at(-1)!.type, "RETRY");
  stage.wait(DAY / 24);
  await stage.transaction({ ...theirs, cardFingerprint: "fp_2", networkDeclineCode: "41" });
  await stage.invoice({ amount: 4800 });
  await stage.decide();
  assert.equal((await stage.actions()).at(-1)!.type, "CARD_CHANGE");
});

test("another customer's charges do not affect the card when they name no card, or when many customers share it", async () => {
  const theirs = (n: number, overrides: Partial<Transaction>) =>
    stage.transaction({ invoiceId: `inv_9${n}`, customerId: `cus_9${n}`, ...daysAgo(3), ...PAID, ...overrides });
  await theirs(1, {});
  await theirs(1, { cardFingerprint: undefined, networkDeclineCode: "41", state: "FAILED", ...daysAgo(1) });
  assert.equal((await loadPlannedRetry()).type, "RETRY");

  merchantId = (await stage.enter()).id;
  for (let n = 0; n < 9; n++) await theirs(n, {});
  await stage.transaction();
  stage.wait(DAY / 24);
  await theirs(1, { cardFingerprint: "fp_2", networkDeclineCode: "41", state: "FAILED", ...daysAgo(0) });
  await stage.invoice();
  await stage.decide();
  assert.equal((await stage.actions()).at(-1)!.type, "RETRY");
});

test("a card reported stolen is not retried when its brand is reported as the payment type", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "mc", cardBrand: undefined, networkDeclineCode: "43" });
  await stage.decide();
  const [action] = await stage.actions();
  assert.equal(action?.type, "CARD_CHANGE");
});
