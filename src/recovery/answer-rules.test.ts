import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { findAnswer } from "../explain/answers.fixture.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import type { MerchantSettings } from "../merchants/merchant-settings.ts";
import { DAY, HOUR, openStage, START } from "./stage.fixture.ts";

// What is said of moments that could not be chosen, by a rule or for another reason.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
const enterMerchant = async (settings: MerchantSettings = {}) => {
  merchantId = (await stage.enter(true, settings)).id;
};
beforeEach(() => enterMerchant());

async function openCase() {
  const { case: kase } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  return { end: kase!.windowEndsAt };
}

const ask = (question: string) => findAnswer(stage, merchantId, question);

test("a rule that holds to the end of the window is said to, and not to end at the last moment that was looked at", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  assert.match(
    await ask("Which rules?"),
    /^No retry from .* to the end of the window: Visa does not allow another attempt/,
  );
  await enterMerchant();
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "28" });
  await stage.decide();
  assert.match(await ask("Which rules?"), /^No retry from .* to Sun 8 March, \d\d:\d\d/);
});

test("a rule that is a reason and leaves no try for a while is named once", async () => {
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "28" });
  await stage.decide();
  const answer = await ask("Which rules?");
  assert.equal(
    answer.match(/the bank advises to try again after 6 days, so no retry comes sooner/g)?.length,
    1,
    answer,
  );
});

test("what a rule forbids begins with the decision, and ends to the minute", async () => {
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  // After 24 hours a try may come, and each may come 49 minutes early.
  assert.match(await ask("Which rules?"), /^No retry from Mon 2 March, 11:00 to Tue 3 March, 11:49: /);
});

test("a rule that is named as a reason is never denied, however soon the window ends", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { end } = await openCase();
  stage.at(end.getTime() - 2 * HOUR);
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "28" });
  await stage.decide();
  assert.match(await ask("Which rules?"), /^No retry from .* to the end of the window: .*6 days/);
});

test("a scheme that lets no debit be presented again after such a return code is named among the rules", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AC04" });
  await stage.decide();
  assert.match(
    await ask("Which rules?"),
    /^No retry from .* to the end of the window: SEPA debits allow 2 more attempts/,
  );
  for (const question of ["What happened so far?", "Why a card change?", "What was known?"])
    assert.doesNotMatch(await ask(question), /other card(?! or payment method)/, "it is an account, and no card");
});

test("a rule that leaves fewer tries than the budget is named among the rules", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AM04" });
  await stage.decide();
  assert.match(
    await ask("Which rules?"),
    /^No rule excluded a time of the window remaining on .*\.\nAfter this one, 1 more retry is possible .* SEPA debits allow/,
  );
});

test("a scheme's rule is named also where it leaves no fewer tries than the budget", async () => {
  await stage.invoice({ currency: "GBP" });
  const debit = { paymentMethodType: "bacs_debit", cardBrand: undefined, currency: "GBP" } as const;
  await stage.transaction({ ...debit, networkDeclineCode: "0" });
  await stage.decide();
  assert.match(await ask("Which rules?"), /\nBacs debits allow attempts .* Retries left by this rule: any number\.$/);
});

test("a wait that was over before anything was decided is no reason, and no rule that left out a moment", async () => {
  for (const engine of ["learned", "static"] as const) {
    await enterMerchant({ engine });
    await stage.invoice();
    await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
    // Four days on, the moments that were right after the wait have passed.
    stage.at(START.getTime() + 4 * DAY);
    await stage.decide();
    for (const question of ["What is planned now?", "Which rules?"])
      assert.doesNotMatch(await ask(question), /no retry comes sooner/, engine);
  }
});

test("what is counted, and what was known, is said to be of the moment of the decision, however much later it is asked", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const said = async () => {
    assert.match(await ask("Which rules?"), /\nAs counted on Mon 2 March, 11:00:\n.*Counted so far: 1\./);
    assert.match(await ask("What was known?"), /^As of Mon 2 March, 11:00:\nThe last attempt failed/);
  };
  stage.wait(9 * DAY);
  await said();
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  await said();
});

test("a rule that ends today is not why nothing is tried today", async () => {
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  assert.match(await ask("Why not today?"), /^A rule allows no retry until Tue 3 March/);
  stage.at(START.getTime() + 18 * HOUR);
  assert.doesNotMatch(await ask("Why not today?"), /^A rule leaves no try/);
});

test("a rule that ends today, after the last moment of it that is weighed, is why nothing is tried today", async () => {
  stage.at(START.getTime() + 12 * HOUR);
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  stage.wait(12 * HOUR);
  assert.match(await ask("Why not today?"), /^A rule allows no retry until Tue 3 March, 2[23]:\d\d: .*\nSource: /);
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  stage.wait(HOUR);
  assert.match(await ask("Why not today?"), /^A rule allows no retry until .*\nSource: /);
});

test("a rule that has ended is not why nothing is tried today", async () => {
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  stage.wait(30 * HOUR);
  assert.match(await ask("Why not today?"), /^Fixed rules choose the time/);
});
