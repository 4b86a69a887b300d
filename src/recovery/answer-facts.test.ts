import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Subscription } from "../domain/subscription.ts";
import { findAnswer } from "../explain/answers.fixture.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import type { MerchantSettings } from "../merchants/merchant-settings.ts";
import { DAY, HOUR, openStage } from "./stage.fixture.ts";

// Answers about the facts, and about changes of them.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
const enterMerchant = async (settings: MerchantSettings = {}) => {
  merchantId = (await stage.enter(true, settings)).id;
};
beforeEach(() => enterMerchant());

const findText = (question = "Input data") => findAnswer(stage, merchantId, question);

test("explain counts the earlier attempts when more than four failed", async () => {
  await stage.invoice();
  await stage.transaction();
  for (let n = 1; n < 6; n++) {
    stage.wait(24 * HOUR);
    await stage.transaction();
  }
  await stage.decide();
  const answer = await findText();
  assert.equal(answer.match(/An attempt failed on/g)!.length, 4);
  assert.match(answer, /2 attempts failed before the following ones\.\nAn attempt failed on/);
  stage.wait(DAY);
  await stage.transaction();
  await stage.decide();
  const changed = await findText("Changes since the last decision");
  assert.match(changed, /An attempt failed on/);
  assert.doesNotMatch(changed, /those that follow|Counted so far/);
});

test("explain reports withdrawn facts, or that only a count changed, when nothing is new since the last plan", async () => {
  const changed = () => findText("Changes since the last decision");
  await stage.invoice();
  await stage.transaction();
  stage.wait(HOUR);
  const taken = { id: "txn_taken", createdAt: stage.now() };
  await stage.transaction(taken);
  await stage.decide();
  stage.wait(HOUR);
  await stage.transaction({ ...taken, state: "VOIDED" });
  await stage.decide();
  assert.equal(await changed(), "No longer true: An attempt failed on Mon 2 March, 12:00.");
  for (let n = 0; n < 4; n++) {
    stage.wait(HOUR);
    await stage.transaction();
  }
  await stage.decide();
  assert.match(await changed(), /^An attempt failed on [^:]*:/);
  // An attempt earlier than the listed ones, reported late.
  await stage.transaction({ createdAt: new Date(taken.createdAt.getTime() + HOUR / 2) });
  await stage.decide();
  assert.equal(await changed(), "No new facts: time passed, or a count changed.");
});

/** Creates an invoice that was declined on this day, counted from January 1, and paid this many hours later. */
async function runDeclinedCase(day: number, paidAfter = 24) {
  const id = `inv_of_${day}`;
  const createdAt = new Date(Date.UTC(2026, 0, day, 10));
  const paidAt = new Date(+createdAt + paidAfter * HOUR);
  await stage.invoice({ id, state: "PAID", createdAt, updatedAt: paidAt });
  await stage.transaction({ invoiceId: id, createdAt, updatedAt: createdAt });
  await stage.transaction({ invoiceId: id, state: "PAID", createdAt: paidAt, updatedAt: paidAt });
}

test("explain refers to the latest invoices when there are more than it reads, and lists each of their latest payment days once", async () => {
  for (let day = 1; day <= 20; day++) await runDeclinedCase(day, day % 2 === 0 ? 24 : 48);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(
    await findText(),
    /The first attempt was declined on 15 of the latest 15 invoices before this one\. The latest days on which declined invoices were paid are Thu 15 January, Sat 17 January, Mon 19 January, Wed 21 January\./,
  );
});

test("explain does not list a later invoice of the customer as an earlier one", async () => {
  await runDeclinedCase(20);
  await stage.invoice();
  await stage.transaction();
  stage.wait(3 * DAY);
  await stage.invoice({ id: "inv_2", createdAt: stage.now() });
  await stage.transaction({ invoiceId: "inv_2" });
  await stage.decide();
  const answer = await findText();
  assert.match(
    answer,
    /The previous invoice's first attempt was declined\. Declined invoices were paid on Wed 21 January\./,
  );
  assert.match(answer, /Another invoice of this customer was declined on Thu 5 March/);
});

test("explain lists the payment days of declined invoices in order, whichever invoice was paid first", async () => {
  await runDeclinedCase(2, 10 * 24);
  await runDeclinedCase(5);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await findText(), /Declined invoices were paid on Tue 6 January, Mon 12 January\./);
});

test("an invoice does not count as earlier when both were charged at the same time", async () => {
  for (const id of ["inv_1", "inv_2"]) {
    await stage.invoice({ id });
    await stage.transaction({ invoiceId: id });
  }
  await stage.decide();
  assert.match(await findText(), /^No earlier invoice of this customer is known\.$/m);
});

test("explain reports every fact that the learned engine uses, and every change of one", async () => {
  const createdAt = new Date(stage.now().getTime() - 400.5 * DAY);
  const pushed = (overrides: Partial<Subscription>) =>
    stage.subscription("ACTIVE", { createdAt, billingPeriod: 1, billingPeriodUnit: "MONTH", ...overrides });
  await pushed({});
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.transaction({ cardFunding: "DEBIT", cardIssuer: "Sparkasse \u202e" });
  await stage.decide();
  const known = await findText();
  assert.match(known, /to be paid by card \(Visa debit, DE, issued by Sparkasse ·\)\./);
  assert.match(known, /^The subscription is billed every month, and began 400 days before the invoice failed\.$/m);
  stage.wait(HOUR);
  await pushed({ billingPeriodUnit: "YEAR", billingPeriod: 2 });
  await stage.decide();
  assert.equal(
    await findText("Changes since the last decision"),
    "The subscription is billed every 2 years, and began 400 days before the invoice failed.",
  );
  await pushed({ createdAt: new Date(stage.now().getTime() - 3 * HOUR) });
  await stage.decide();
  assert.match(await findText(), /billed every month, and began less than a day before the invoice failed\.$/m);
});

test("explain says so when an invoice has no subscription, or its subscription reports little", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await findText(), /^The invoice belongs to no known subscription\.$/m);
  await enterMerchant();
  await stage.subscription("ACTIVE", { createdAt: new Date(stage.now().getTime() + HOUR) });
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.transaction();
  await stage.decide();
  assert.match(
    await findText(),
    /^The billing period of the subscription is unknown; it began less than a day before the invoice failed\.$/m,
  );
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.decide();
  assert.doesNotMatch(await findText(), /subscription/, "fixed rules look at none");
});

test("explain says so when no reason was reported, or when a payment method has no rules and the merchant decides how to retry", async () => {
  await stage.invoice();
  const nothing = { networkDeclineCode: undefined, cardBrand: undefined, cardCountry: undefined } as const;
  await stage.transaction({ ...nothing, paymentMethodType: "klarna" });
  await stage.decide();
  const planned = await findText("Next step");
  assert.match(planned, /^The last attempt failed without a reason\.$/m);
  const words = /^No rules are known for payments by "klarna", so the merchant decides how to retry\.$/m;
  assert.match(planned, words);
  assert.match(await findText("Limits"), words);
  await enterMerchant();
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.doesNotMatch(await findText("Next step"), /the merchant's to say/);
});

test("explain uses the singular or plural that fits when the budget has one retry or none left", async () => {
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  for (let attemptsLeft = 7; attemptsLeft >= 0; attemptsLeft--) {
    const sent = await stage.untilSent();
    stage.at(sent.ideal);
    await stage.transaction();
    await stage.decide();
    const budgetLine = /^.* of the budget .*$/m.exec(await findText())?.[0];
    assert.equal(
      budgetLine,
      `${attemptsLeft === 0 ? "No retry" : attemptsLeft === 1 ? "1 retry" : `${attemptsLeft} retries`} of the budget ${attemptsLeft > 1 ? "are" : "is"} left.`,
    );
  }
  assert.match(await findText("Why did it stop?"), /^Dunlin gave up on the invoice\.\n[\s\S]*budget are used\.$/);
});

test("explain counts no card check as an attempt, and no pending attempt of the merchant as requested", async () => {
  await stage.invoice();
  await stage.transaction({ cardCountry: "DE" });
  stage.wait(HOUR);
  await stage.transaction({ state: "PAID", amount: 0, cardCountry: undefined });
  stage.wait(HOUR);
  await stage.transaction({ state: "PENDING", cardCountry: undefined });
  await stage.decide();
  const happened = await findText("History");
  assert.match(happened, /A card was checked: no money moved\./);
  assert.doesNotMatch(happened, /An attempt succeeded/);
  assert.match(happened, /Times are those of Europe\/Berlin/, "by the latest attempt that names a country");
  assert.doesNotMatch(await findText(), /Local time/, "it was decided by the same clock");
  assert.match(await findText(), /An attempt was made on .*, and its outcome is not known\./);
});

test("explain mentions attempts of other invoices only when a rule counts them", async () => {
  const one = "1 declined or unanswered attempt on another invoice counts toward this card's limits";
  for (const [paymentMethodType, cardBrand, amount, count] of [
    ["paypal", undefined, 4900, null],
    ["card", "visa", 4900, one],
    ["card", "visa", 4800, null],
    ["card", "mastercard", 4800, one],
  ] as const) {
    await enterMerchant();
    for (const id of ["inv_0", "inv_1"]) {
      const own = { amount: id === "inv_1" ? 4900 : amount };
      await stage.invoice({ id, ...own });
      await stage.transaction({ invoiceId: id, paymentMethodType, cardBrand, ...own });
      stage.wait(HOUR);
    }
    await stage.decide();
    const rules = await findText("Limits");
    const countLine = /^.* on (?:an)?other invoices? counts? toward this card's limits/m.exec(rules)?.[0] ?? null;
    assert.equal(countLine, count, `${paymentMethodType} ${cardBrand} ${amount}: ${rules}`);
    assert.doesNotMatch(await findText("Changes since the last decision"), /counts? toward this card/);
  }
});

test("an approved charge of another invoice counts toward no limit, even at the same time as a declined one", async () => {
  const paid = { state: "PAID", networkDeclineCode: undefined } as const;
  for (const [invoiceId, overrides] of [
    ["inv_0", {}],
    ["inv_2", paid],
  ] as const)
    await stage.transaction({ invoiceId, ...overrides });
  stage.wait(HOUR);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(
    await findText("Limits"),
    /^1 declined or unanswered attempt on another invoice counts toward this card.s limits/m,
  );
});

test("a plan does not change when an attempt becomes half a year old during the case", async () => {
  const from = stage.now().getTime();
  await stage.invoice({ id: "inv_0", state: "PAID", createdAt: new Date(from - 179.9 * DAY) });
  await stage.transaction({ invoiceId: "inv_0", state: "PAID", createdAt: new Date(from - 179.9 * DAY) });
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const decided = async () => (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!.decisions;
  const [first] = await decided();
  const { ideal } = await stage.untilSent();
  assert.ok(+ideal - from > 0.2 * DAY, "else nothing became old meanwhile");
  assert.deepEqual(await decided(), [first]);
});

test("explain says that an instruction is on its way, and offers no other time, when it is decided but not accepted yet", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await findText("Next step"), / and may still change\./);
  const [action] = await stage.actions();
  stage.at(action!.ideal.getTime());
  await stage.decide();
  stage.wait(30 * HOUR);
  assert.match(
    await findText("Next step"),
    / is being requested .* the merchant's endpoint has not accepted the request/,
  );
  assert.match(await findText("Why not today?"), /^A retry was requested for .*, and its outcome is awaited first\./);
});
