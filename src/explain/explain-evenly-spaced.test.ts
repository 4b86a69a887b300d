import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { MerchantSettings } from "../merchants/merchant-settings.ts";
import { HOUR, openStage } from "../recovery/stage.fixture.ts";
import { findAnswer } from "./answers.fixture.ts";
import { buildExplanation } from "./answers.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

// What is said of six even tries, beside the plan.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
const enterMerchant = async (settings: MerchantSettings = {}) => {
  merchantId = (await stage.enter(true, settings)).id;
};
beforeEach(() => enterMerchant());

const findText = (question = "Compared with six evenly spaced retries", invoiceId = "inv_1") =>
  findAnswer(stage, merchantId, question, invoiceId);

test("evenly spaced retries are as many as possible, with the caveat for their payment method", async () => {
  await stage.invoice({ currency: "USD" });
  const debit = { paymentMethodType: "ach_debit", cardBrand: undefined, cardCountry: undefined } as const;
  await stage.transaction({ ...debit, currency: "USD", networkDeclineCode: "R01" });
  await stage.decide();
  const answer = await findText();
  assert.match(answer, /\n2 evenly spaced retries, as many as possible, on .*, .* recover it with a chance of \d+%/);
  assert.match(
    answer,
    /simulations with bank debits, plans recovered as much as predicted, and evenly spaced retries 6 to 11 points less/,
  );
  assert.doesNotMatch(answer, /cards/);
});

test("a longer plan is compared as one of as many retries as the evenly spaced ones", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const words =
    /\n6 evenly spaced retries on .* with a chance of (\d+)%, expected value (\d+)% of the amount\.\nThe plan, [78] retries on .* with a chance of (\d+)%, expected value (\d+)%\.\nA plan of 6 retries, as many as the evenly spaced ones, would recover it with a chance of (\d+)%, expected value (\d+)%\.\nA model overrates .* six retries/;
  const [even, , plan, planWorth, asMany, asManyWorth] = words
    .exec(await findText())!
    .slice(1)
    .map(Number);
  assert.ok(even! < asMany! && asMany! < plan! && asManyWorth! < planWorth!);
  await enterMerchant({ budget: 6 });
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(
    await findText(),
    /\n6 evenly spaced retries on .*\nThe plan, [1-6] (retry|retries) on .*\nA model overrates/,
  );
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions;
  const even2 = decision!.account.even!;
  const longer = { ...even2, tries: even2.tries.slice(0, even2.plan.length - 1), asMany: null };
  const former = { ...explained, decisions: [{ ...decision!, account: { ...decision!.account, even: longer } }] };
  const answer = buildExplanation(former).find(({ question }) => /evenly spaced/.test(question))!;
  assert.ok(
    answer.answer.includes("With 1 retry more than the evenly spaced ones, it reaches more by that alone."),
    answer.answer.join(" "),
  );
});

test("no simulation is cited for a payment method that none contains", async () => {
  await stage.invoice();
  const paypal = { paymentMethodType: "paypal", cardBrand: undefined, cardCountry: undefined } as const;
  await stage.transaction({ ...paypal, networkDeclineCode: undefined, paymentGatewayErrorCode: "INSTRUMENT_DECLINED" });
  await stage.decide();
  const answer = await findText();
  assert.match(answer, /By how much is unknown for payments that are neither/);
  assert.doesNotMatch(answer, /simulations with cards/);
});

test("a case that was given up is compared with evenly spaced retries", async () => {
  await stage.invoice({ amount: 20, currency: "USD" });
  await stage.transaction({ amount: 20, currency: "USD" });
  await stage.decide();
  assert.match(await findText("History"), /gave up on the invoice, because no allowed retry was worth its cost\./);
  assert.match(
    await findText("Why did it stop?"),
    /^Dunlin gave up on the invoice\.\n.*\n.*\n.*with a chance of .*\.\n/,
  );
  assert.match(
    await findText(),
    /\n6 evenly spaced retries on .* with a chance of \d+%, expected value -\d+% of the amount\.\nNo plan was made: no retry was worth its cost\.\nIn simulations with cards, evenly spaced retries/,
  );
});

test("the comparison names the plan at that time when a later plan exists", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await findText(), /^As seen on Mon 2 March, 11:00, .*\n.*\nThe plan, \d retr(y|ies) on /);
  stage.wait(24 * HOUR);
  await stage.transaction();
  await stage.decide();
  assert.match(await findText(), /^As seen on Mon 2 March, 11:00, .*\n.*\nThe plan at that time, \d retr(y|ies) on /);
});

test("a plan made before the failure was known is compared with nothing", async () => {
  await stage.invoice();
  await stage.decide();
  assert.match(await findText(), /The plan, \d retries on .* recovers it/);
  stage.wait(HOUR);
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  assert.equal(
    await findText(),
    "No alternatives were computed since the failure is known: another card or payment method was needed, so no retry was planned.",
  );

  await enterMerchant();
  await stage.invoice();
  await stage.decide();
  stage.wait(HOUR);
  await stage.transaction();
  await stage.decide();
  assert.match(await findText(), /when times were first compared with the failure known, by the same/);
});

test("the answer explains the chosen plan only when evenly spaced retries have a higher expected value", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions;
  const { account } = decision!;
  const explain = (overrides: Partial<typeof account>, worth = 0.5, planWorth = 0.4, paymentMethodType = "card") => {
    const even = { ...account.even!, worth, planWorth };
    const plain = { ...account, drawn: false, hourDrawn: false, spread: false };
    const payer = { ...explained.payer, paymentMethodType };
    const decisions = [{ ...decision!, account: { ...plain, ...overrides, even } }];
    return buildExplanation({ ...explained, payer, decisions })
      .find(({ question }) => /evenly spaced/.test(question))!
      .answer.join(" ");
  };
  assert.match(
    explain({}, 0.401, 0.399),
    / Rounded to whole percent, the plan and the evenly spaced retries have the same expected value\. /,
  );
  assert.doesNotMatch(explain({}, 0.41, 0.399), /worth the same/);
  assert.match(explain({ drawn: true }), /It was chosen all the same\. Dunlin chose this time at random/);
  assert.match(
    explain({ hourDrawn: true }),
    /all the same\. The day is the best one\. Dunlin chose the hour at random/,
  );
  assert.match(explain({ spread: true }), /all the same\. Recently far fewer retries after such declines/);
  assert.match(explain({}, 0.1, -0.2), /all the same\. No retry seems worth its cost/);
  assert.match(explain({}), /all the same\. A plan is found step by step/);
  assert.match(explain({}, 0.5, 0.4, "bacs_debit"), /all the same\. A plan waits for the answer/);
  const both = /all the same\. Dunlin chose this time at random.*\. A plan waits for the answer/;
  assert.match(explain({ drawn: true }, 0.5, 0.4, "bacs_debit"), both);
  assert.doesNotMatch(explain({ drawn: true }), /A plan leaves each debit/);
  assert.doesNotMatch(explain({ drawn: true }, 0.404), /all the same/);
});
