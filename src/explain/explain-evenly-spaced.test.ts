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

const ask = (question = "What would six even tries have done?", invoiceId = "inv_1") =>
  findAnswer(stage, merchantId, question, invoiceId);

test("even tries are as many as could be made, with what is known of such sums in the way of paying", async () => {
  await stage.invoice({ currency: "USD" });
  const debit = { paymentMethodType: "ach_debit", cardBrand: undefined, cardCountry: undefined } as const;
  await stage.transaction({ ...debit, currency: "USD", networkDeclineCode: "R01" });
  await stage.decide();
  const said = await ask();
  assert.match(said, /\n2 even tries, as many as could be made, on .*, .* recover it with a chance of \d+%/);
  assert.match(
    said,
    /world of bank debits plans recovered what the model said of them, and even tries 6 to 11 points less/,
  );
  assert.doesNotMatch(said, /cards/);
});

test("a plan of more tries than the even ones is set beside them as one of as many", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const words =
    /\n6 even tries on .* with a chance of (\d+)%, worth (\d+)% of the amount\.\nThe plan, [78] tries on .* with a chance of (\d+)%, worth (\d+)%\.\nA plan of 6 tries, as many as the even ones, would recover it with a chance of (\d+)%, worth (\d+)%\.\nA model flatters .* with six tries/;
  const [even, , plan, planWorth, asMany, asManyWorth] = words
    .exec(await ask())!
    .slice(1)
    .map(Number);
  assert.ok(even! < asMany! && asMany! < plan! && asManyWorth! < planWorth!);
  await enterMerchant({ budget: 6 });
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await ask(), /\n6 even tries on .*\nThe plan, [1-6] (try|tries) on .*\nA model flatters/);
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions;
  const even2 = decision!.account.even!;
  const longer = { ...even2, tries: even2.tries.slice(0, even2.plan.length - 1), asMany: null };
  const former = { ...explained, decisions: [{ ...decision!, account: { ...decision!.account, even: longer } }] };
  const said = buildExplanation(former).find(({ question }) => /even tries/.test(question))!;
  assert.ok(
    said.answer.includes("With 1 try more than the even ones it reaches more by that alone."),
    said.answer.join(" "),
  );
});

test("of a way of paying that is in no simulated world none is cited", async () => {
  await stage.invoice();
  const paypal = { paymentMethodType: "paypal", cardBrand: undefined, cardCountry: undefined } as const;
  await stage.transaction({ ...paypal, networkDeclineCode: undefined, paymentGatewayErrorCode: "INSTRUMENT_DECLINED" });
  await stage.decide();
  const said = await ask();
  assert.match(said, /by how much was measured in no world of such payments/);
  assert.doesNotMatch(said, /worlds of cards/);
});

test("of a case that was given up it is said what even tries would have come to", async () => {
  await stage.invoice({ amount: 20, currency: "USD" });
  await stage.transaction({ amount: 20, currency: "USD" });
  await stage.decide();
  assert.match(
    await ask("What happened so far?"),
    /gave the invoice up: no try that is allowed is likely enough to succeed to be worth making\./,
  );
  assert.match(await ask("Why did you stop?"), /^Dunlin gave the invoice up\.\n.*\n.*\n.*with a chance of .*on\.\n/);
  assert.match(
    await ask(),
    /\n6 even tries on .* with a chance of \d+%, worth -\d+% of the amount\.\nNo plan was made: by what was known no try was worth making\.\nIn simulated worlds of cards even tries/,
  );
});

test("once there is a later plan, the plan beside even tries is said to be the one of then", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await ask(), /^As seen on Mon 2 March, 11:00, .*\n.*\nThe plan, \d tr(y|ies) on /);
  stage.wait(24 * HOUR);
  await stage.transaction();
  await stage.decide();
  assert.match(await ask(), /^As seen on Mon 2 March, 11:00, .*\n.*\nThe plan of then, \d tr(y|ies) on /);
});

test("a plan that was made before it was known how the invoice had failed is held against nothing", async () => {
  await stage.invoice();
  await stage.decide();
  assert.match(await ask(), /The plan, \d tries on .* recovers it/);
  stage.wait(HOUR);
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  assert.equal(
    await ask(),
    "No alternatives were worked out since it is known how the invoice had failed: another card or payment method was needed, so no try was planned.",
  );

  await enterMerchant();
  await stage.invoice();
  await stage.decide();
  stage.wait(HOUR);
  await stage.transaction();
  await stage.decide();
  assert.match(await ask(), /when moments were first compared knowing how the invoice had failed, by the same/);
});

test("why the plan was chosen is said where even tries are worth more, and only there", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions;
  const { account } = decision!;
  const said = (over: Partial<typeof account>, worth = 0.5, planWorth = 0.4, paymentMethodType = "card") => {
    const even = { ...account.even!, worth, planWorth };
    const plain = { ...account, drawn: false, hourDrawn: false, spread: false };
    const payer = { ...explained.payer, paymentMethodType };
    const decisions = [{ ...decision!, account: { ...plain, ...over, even } }];
    return buildExplanation({ ...explained, payer, decisions })
      .find(({ question }) => /even tries/.test(question))!
      .answer.join(" ");
  };
  assert.match(said({}, 0.401, 0.399), / To the percent the plan and the even tries are worth the same\. /);
  assert.doesNotMatch(said({}, 0.41, 0.399), /worth the same/);
  assert.match(said({ drawn: true }), /It was chosen all the same\. The moment was drawn by lot/);
  assert.match(said({ hourDrawn: true }), /all the same\. In one try of five the hour is drawn/);
  assert.match(said({ spread: true }), /all the same\. Of late far fewer tries were approved/);
  assert.match(said({}, 0.1, -0.2), /all the same\. No try seems worth making/);
  assert.match(said({}), /all the same\. A plan is found step by step/);
  assert.match(said({}, 0.5, 0.4, "bacs_debit"), /all the same\. A plan leaves each debit the days/);
  const both = /all the same\. The moment was drawn by lot.*\. A plan leaves each debit the days/;
  assert.match(said({ drawn: true }, 0.5, 0.4, "bacs_debit"), both);
  assert.doesNotMatch(said({ drawn: true }), /A plan leaves each debit/);
  assert.doesNotMatch(said({ drawn: true }, 0.404), /all the same/);
});
