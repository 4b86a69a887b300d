import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, HOUR, openStage, START } from "./stage.fixture.ts";

// Answers about an invoice whose case is over.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const loadExplained = async () => (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
const loadAnswers = async () =>
  new Map(buildExplanation(await loadExplained()).map(({ question, answer }) => [question, answer.join("\n")]));

test("explain gives one answer, that the invoice was paid, when the first attempt succeeded", async () => {
  await stage.invoice({ state: "PAID", updatedAt: new Date(START.getTime() + HOUR) });
  await stage.transaction({ state: "PAID" });
  const answers = await loadAnswers();
  assert.deepEqual([...answers.keys()], ["History", "Why Dunlin did nothing"]);
  assert.equal(
    answers.get("Why Dunlin did nothing"),
    "It was paid at the first attempt, so there was nothing to decide.",
  );
});

test("explain still says why the last retry came when it did, and promises no other, when the case is over", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const sent = await stage.untilSent();
  const { reasons } = (await loadExplained()).decisions.findLast(({ kind }) => kind === "retry")!.account;
  assert.match((await loadAnswers()).get("Why a new card?")!, /The current one may still work/);
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const answers = await loadAnswers();
  assert.match(answers.get("History")!, /A retry on .* was requested, and succeeded\./);
  assert.equal(answers.get("Why a new card?"), "No other card or payment method was requested.");
  const hour = answers.get("Why this hour?")!;
  assert.match(hour, /^The last retry was planned on .*\nThe retry was for .*\nChances on /s);
  for (const reason of reasons.map((each) => each.replaceAll(" (Europe/Berlin)", "")))
    assert.equal(hour.split(reason).length, 2, `${reason}: ${hour}`);
});

test("explain reports no executed retry when the case ended before the planned one was requested", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const hour = (await loadAnswers()).get("Why this hour?");
  assert.equal(hour, "A retry was planned, and the case ended before it was requested.");
});

test("explain says that no result was reported when no requested retry has one", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  await stage.untilSent();
  await stage.invoice({ state: "UNCOLLECTIBLE", updatedAt: stage.now() });
  await stage.decide();
  const hour = (await loadAnswers()).get("Why this hour?");
  assert.equal(hour, "No result was reported for any requested retry.");
});

test("explain says that no hour was chosen when the case ended without a planned retry", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "MD07" });
  await stage.decide();
  const answers = await loadAnswers();
  assert.match(answers.get("Why did it stop?")!, /^Dunlin gave up on the invoice\./);
  assert.equal(answers.get("Why this hour?"), "No hour was chosen: no retry was planned.");
});

test("explain gives the time at which the last retry was planned when the case is over, even if it was replanned later", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  stage.wait(HOUR);
  await stage.transaction();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("Why this hour?")!,
    /^The last retry was planned on Mon 2 March, 11:00[^,]*, and again on Mon 2 March, 12:00/,
  );
});

test("explain lists the reasons of the last retry once when a case decided by fixed rules is over", async () => {
  merchantId = (await stage.enter(true, { engine: "static" })).id;
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const hour = (await loadAnswers()).get("Why this hour?")!;
  assert.equal(hour.match(/The last attempt failed/g)?.length, 1, hour);
});

test("explain describes the outcomes of attempts and actions in words, and why a case waits", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  const happened = async () => (await loadAnswers()).get("History")!;
  assert.match(await happened(), /Another card or payment method was requested, and may still come\./);
  assert.match(
    (await loadAnswers()).get("Why not today?")!,
    /^No retry is planned\.\nA rule allows no retry until the end of the window: Visa does not allow .*\nSource: .*$/,
  );
  assert.equal((await loadAnswers()).get("Why this hour?"), "No hour was chosen: no retry is planned.");
  stage.wait(8 * DAY);
  await stage.decide();
  assert.match(
    await happened(),
    /Another card or payment method was requested, and no payment followed within seven days; one may still come\./,
  );
  const answers = await loadAnswers();
  const reasons =
    "The last attempt failed: .* \\(code 14\\)\\.\nVisa does not allow .*\nThe customer was asked for another card .* on Mon 2 March, and none came so far\\. The case stays open until .* Mon 30 March.*";
  assert.match(answers.get("Why did it stop?")!, new RegExp(`^It has not stopped; it waits:\n${reasons}$`));
  assert.match(answers.get("Next step")!, new RegExp(`^${reasons}$`));
  assert.match(answers.get("Input data")!, /none came within seven days/);
  await stage.transaction({ state: "PENDING" });
  await stage.transaction({ state: "PAID" });
  assert.match(await happened(), /An attempt was made, and its outcome is awaited\./);
  assert.match(await happened(), /An attempt succeeded\./);
});

test("explain says once why a case was given up", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "R1" });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("Why did it stop?")!,
    /^Dunlin gave up on the invoice\.\nThe last attempt failed: .* \(code R1\)\.\nVisa does not allow .*\nA later retry will not succeed either\. After such a decline Dunlin does not ask for another card: .*\.$/,
  );
});

test("explain does not announce a card change as still to come when the case has ended", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  stage.wait(DAY);
  await stage.invoice({ state: "UNCOLLECTIBLE" });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("History")!,
    /Another card or payment method was requested, (and none came before the case ended|but a payment came first)/,
  );
});

test("explain does not credit the learned engine when rules decided alone", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const how = async () => (await loadAnswers()).get("How Dunlin chose")!;
  assert.match(await how(), /^The learned engine decided, with version \d+ of the model\./);
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  assert.equal((await loadExplained()).decisions.at(-1)!.kind, "card_change");
  assert.match(await how(), /^Rules alone decided; the model was not used\./);
});

test("explain names the rule that blocks the card as the reason for a card change, whatever the last attempt reported", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.transaction({ networkDeclineCode: "51" });
  await stage.decide();
  const asked = (await loadAnswers()).get("Why a new card?")!;
  assert.match(
    asked,
    /not enough money.*\n.*\(code 14\)\.\nVisa does not allow .*\nBy this rule the same card or account is not charged again/,
  );
});

test("explain says in words how often an invoice was in recovery before", async () => {
  const happened = async () => (await loadAnswers()).get("History")!;
  for (const count of [null, "once", "2 times"]) {
    stage.wait(HOUR);
    await stage.invoice({ state: "UNPAID" });
    await stage.decide();
    assert.equal(/It was in recovery (.*) before\./.exec(await happened())?.[1] ?? null, count);
    stage.wait(HOUR);
    await stage.invoice({ state: "PAID" });
    await stage.decide();
  }
});
