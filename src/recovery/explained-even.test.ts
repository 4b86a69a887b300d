import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { explain } from "./explain.ts";
import { answerTo } from "./explained.fixture.ts";
import { explanationOf } from "./explanation.ts";
import type { MerchantSettings } from "./merchants.ts";
import { HOUR, openStage } from "./stage.fixture.ts";

// What is said of six even tries, beside the plan.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
const enter = async (settings: MerchantSettings = {}) => {
  merchantId = (await stage.enter(true, settings)).id;
};
beforeEach(() => enter());

const asked = (question = "What would six even tries have done?", invoiceId = "inv_1") =>
  answerTo(stage, merchantId, question, invoiceId);

test("even tries are as many as could be made, with what is known of such sums in the way of paying", async () => {
  await stage.invoice({ currency: "USD" });
  const debit = { paymentMethodType: "ach_debit", cardBrand: undefined, cardCountry: undefined } as const;
  await stage.transaction({ ...debit, currency: "USD", networkDeclineCode: "R01" });
  await stage.decide();
  const said = await asked();
  assert.match(said, /\n2 even tries, as many as could be made, on .*, .* recover it with a chance of \d+%/);
  assert.match(
    said,
    /world of bank debits plans recovered what the model said of them, and even tries 6 to 11 points less/,
  );
  assert.doesNotMatch(said, /cards/);
});

test("once there is a later plan, the plan beside even tries is said to be the one of then", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await asked(), /^As seen on Mon 2 March, 11:00, .*\n.*\nThe plan, on /);
  stage.wait(24 * HOUR);
  await stage.transaction();
  await stage.decide();
  assert.match(await asked(), /^As seen on Mon 2 March, 11:00, .*\n.*\nThe plan of then, on /);
});

test("a plan that was made before it was known how the invoice had failed is held against nothing", async () => {
  await stage.invoice();
  await stage.decide();
  assert.match(await asked(), /The plan, on .* recovers it/);
  stage.wait(HOUR);
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  assert.equal(
    await asked(),
    "No alternatives were worked out: another card or payment method was needed, so no try was planned.",
  );
});

test("why the plan was chosen is said where even tries are worth more, and only there", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const explained = (await explain(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions;
  const { account } = decision!;
  const said = (over: Partial<typeof account>, worth = 0.5, planWorth = 0.4, paymentMethodType = "card") => {
    const even = { ...account.even!, worth, planWorth };
    const plain = { ...account, drawn: false, hourDrawn: false, spread: false };
    const payer = { ...explained.payer, paymentMethodType };
    const decisions = [{ ...decision!, account: { ...plain, ...over, even } }];
    return explanationOf({ ...explained, payer, decisions })
      .find(({ question }) => /even tries/.test(question))!
      .answer.join(" ");
  };
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
