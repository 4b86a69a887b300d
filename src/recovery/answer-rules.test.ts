import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { findAnswer } from "../explain/answers.fixture.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import type { MerchantSettings } from "../merchants/merchant-settings.ts";
import { DAY, HOUR, openStage, START } from "./stage.fixture.ts";

// Answers about times that were not available, because of a rule or for another reason.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
const enterMerchant = async (settings: MerchantSettings = {}) => {
  merchantId = (await stage.enter(true, settings)).id;
};
beforeEach(() => enterMerchant());

async function openCase() {
  const { case: recoveryCase } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  return { end: recoveryCase!.windowEndsAt };
}

const findText = (question: string) => findAnswer(stage, merchantId, question);

test("explain says that a rule holds to the end of the window, not to the last time that was evaluated", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  assert.match(
    await findText("Limits"),
    /^No retry from .* to the end of the window: Visa does not allow another attempt/,
  );
  await enterMerchant();
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "28" });
  await stage.decide();
  assert.match(await findText("Limits"), /^No retry from .* to Sun 8 March, \d\d:\d\d/);
});

test("explain names a rule once when it is a reason and also forbids retries for a while", async () => {
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "28" });
  await stage.decide();
  const answer = await findText("Limits");
  assert.equal(answer.match(/The bank advised waiting 6 days, so Dunlin does not retry sooner/g)?.length, 1, answer);
});

test("explain gives the period that a rule forbids from the decision on, to the minute", async () => {
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  // A retry is allowed after 24 hours, and each may run 49 minutes early.
  assert.match(await findText("Limits"), /^No retry from Mon 2 March, 11:00 to Tue 3 March, 11:49: /);
});

test("explain never denies a rule that it names as a reason, however soon the window ends", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { end } = await openCase();
  stage.at(end.getTime() - 2 * HOUR);
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "28" });
  await stage.decide();
  assert.match(await findText("Limits"), /^No retry from .* to the end of the window: .*6 days/);
});

test("explain names the scheme's rule when a return code forbids another presentation", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AC04" });
  await stage.decide();
  assert.match(
    await findText("Limits"),
    /^No retry from .* to the end of the window: SEPA allows at most 3 presentations/,
  );
  for (const question of ["History", "Why a new card?", "Input data"])
    assert.doesNotMatch(await findText(question), /other card(?! or payment method)/, "it is an account, and no card");
});

test("explain names a rule that allows fewer retries than the budget", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AM04" });
  await stage.decide();
  assert.match(
    await findText("Limits"),
    /^On .*, no rule excluded any time in the rest of the recovery window\.\nAfter this one, 1 more retry is possible .* SEPA allows/,
  );
});

test("explain names a scheme's rule even when it allows as many retries as the budget", async () => {
  await stage.invoice({ currency: "GBP" });
  const debit = { paymentMethodType: "bacs_debit", cardBrand: undefined, currency: "GBP" } as const;
  await stage.transaction({ ...debit, networkDeclineCode: "0" });
  await stage.decide();
  assert.match(await findText("Limits"), /\nBacs allows new presentations .* Retries left by this rule: any number\.$/);
});

test("a wait is neither a reason nor a limiting rule when it was over before the first decision", async () => {
  for (const engine of ["learned", "static"] as const) {
    await enterMerchant({ engine });
    await stage.invoice();
    await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
    // After four days, the good times right after the wait have passed.
    stage.at(START.getTime() + 4 * DAY);
    await stage.decide();
    for (const question of ["Next step", "Limits"])
      assert.doesNotMatch(await findText(question), /Dunlin does not retry sooner/, engine);
  }
});

test("explain dates counts and facts to the decision, however much later it is asked", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const findRules = async () => {
    assert.match(await findText("Limits"), /\nAs counted on Mon 2 March, 11:00:\n.*Counted so far: 1\./);
    assert.match(await findText("Input data"), /^As of Mon 2 March, 11:00:\nThe last attempt failed/);
  };
  stage.wait(9 * DAY);
  await findRules();
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  await findRules();
});

test("a rule that ends today does not explain why nothing is retried today", async () => {
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  assert.match(await findText("Why not today?"), /^A rule allows no retry until Tue 3 March/);
  stage.at(START.getTime() + 18 * HOUR);
  assert.doesNotMatch(await findText("Why not today?"), /^A rule leaves no try/);
});

test("a rule that ends today explains why nothing is retried today when it outlasts the last evaluated time", async () => {
  stage.at(START.getTime() + 12 * HOUR);
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  stage.wait(12 * HOUR);
  assert.match(await findText("Why not today?"), /^A rule allows no retry until Tue 3 March, 2[23]:\d\d: .*\nSource: /);
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  stage.wait(HOUR);
  assert.match(await findText("Why not today?"), /^A rule allows no retry until .*\nSource: /);
});

test("a rule that has ended does not explain why nothing is retried today", async () => {
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction({ cardBrand: "mastercard", networkAdviceCode: "25" });
  await stage.decide();
  stage.wait(30 * HOUR);
  assert.match(await findText("Why not today?"), /^Fixed rules choose the time/);
});
