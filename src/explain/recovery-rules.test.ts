import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { openStage } from "../recovery/stage.fixture.ts";
import { explainInvoice, findAnswer } from "./answers.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const failInvoice = async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
};
const FIRST = { name: "none", customerIds: ["cus_9"] };

test("Limits name the rule that gives the window and the budget, and its quiet times", async () => {
  await stage.setRules(FIRST, {
    name: "Germany",
    cardCountries: ["DE"],
    windowDays: 35,
    budget: 6,
    quietWeekdays: ["SUNDAY"],
  });
  await failInvoice();
  const answer = await findAnswer(stage, merchantId, "Limits");
  assert.match(answer, /^Your rule 2, “Germany”, gives this invoice a window of 35 days and a budget of 6 retries\.\n/);
  assert.match(
    answer,
    /: Your rule 2, “Germany”, allows no retries on Sundays\.\nSource: a recovery rule of the merchant, /,
  );
  assert.match(await findAnswer(stage, merchantId, "Input data"), /“Germany”, allows no retries on Sundays\./);
});

test("Limits say that the settings hold under a rule that gives neither window nor budget", async () => {
  await stage.setRules({ name: "early", leadMinutes: 90 });
  await failInvoice();
  const answer = await findAnswer(stage, merchantId, "Limits");
  assert.match(answer, /^Your rule 1, “early”, fits this invoice\. The window and the budget come from the settings\./);
});

test("Why did it stop? The rule that leaves the invoice out, also after the rule was deleted", async () => {
  await stage.setRules(FIRST, { name: "annual", leaveOut: true });
  await failInvoice();
  const { answerTo } = await explainInvoice(stage, merchantId, "inv_1");
  assert.equal(
    answerTo("Why did it stop?"),
    "Your rule 2, “annual”, leaves this invoice to the merchant's own system.",
  );
  assert.match(answerTo("History"), /a recovery rule leaves the invoice to the merchant's own system\.$/);
  await stage.setRules();
  assert.equal(
    await findAnswer(stage, merchantId, "Why did it stop?"),
    "The case ended: a recovery rule leaves the invoice to the merchant's own system.",
  );
});

test("no answer mentions recovery rules if none fits", async () => {
  await stage.setRules(FIRST);
  await failInvoice();
  assert.doesNotMatch(await findAnswer(stage, merchantId, "Limits"), /Your rule/);
});
