import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, HOUR, openStage, START } from "./stage.fixture.ts";

// What is said of an invoice that nothing more is decided about.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const loadExplained = async () => (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
const loadAnswers = async () =>
  new Map(buildExplanation(await loadExplained()).map(({ question, answer }) => [question, answer.join("\n")]));

test("an invoice that was paid at its first attempt is said once to be, instead of an answer to each question", async () => {
  await stage.invoice({ state: "PAID", updatedAt: new Date(START.getTime() + HOUR) });
  await stage.transaction({ state: "PAID" });
  const said = await loadAnswers();
  assert.deepEqual([...said.keys()], ["What happened so far?", "Why was nothing decided?"]);
  assert.equal(
    said.get("Why was nothing decided?"),
    "It was paid at the first attempt, so there was nothing to decide.",
  );
});

test("once a case is over, why the last try came when it did is still said, and no try is promised any more", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const sent = await stage.untilSent();
  const { reasons } = (await loadExplained()).decisions.findLast(({ kind }) => kind === "retry")!.account;
  assert.match((await loadAnswers()).get("Why a card change?")!, /The current one may still work/);
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const said = await loadAnswers();
  assert.match(said.get("What happened so far?")!, /A retry on .* was requested, and succeeded\./);
  assert.equal(said.get("Why a card change?"), "No other card or payment method was requested.");
  const hour = said.get("Why this hour?")!;
  assert.match(hour, /^The last retry was planned on .*\nThe retry was for .*\nChances on /s);
  for (const reason of reasons.map((each) => each.replaceAll(" (Europe/Berlin)", "")))
    assert.equal(hour.split(reason).length, 2, `${reason}: ${hour}`);
});

test("once a case is over no retry is told of that was never carried out", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const hour = (await loadAnswers()).get("Why this hour?");
  assert.equal(hour, "A retry was planned, and the case ended before it was requested.");
});

test("of a retry that was asked for and never told of it is said that nobody knows of it", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  await stage.untilSent();
  await stage.invoice({ state: "UNCOLLECTIBLE", updatedAt: stage.now() });
  await stage.decide();
  const hour = (await loadAnswers()).get("Why this hour?");
  assert.equal(hour, "No requested retry is known to have been executed.");
});

test("once a case is over in which no retry was planned, no hour was chosen", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "MD07" });
  await stage.decide();
  const said = await loadAnswers();
  assert.match(said.get("Why did you stop?")!, /^Dunlin gave up on the invoice\./);
  assert.equal(said.get("Why this hour?"), "No hour was chosen: no retry was planned.");
});

test("once a case is over the last try is said to have been planned when it was, also where it was planned anew later", async () => {
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

test("once a case that fixed rules decided is over, the reasons of its last try are said once", async () => {
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

test("what became of attempts and of what was asked for is told in words, and why a case waits", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  const happened = async () => (await loadAnswers()).get("What happened so far?")!;
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
  const said = await loadAnswers();
  const reasons =
    "The last attempt failed: .* \\(code 14\\)\\.\nVisa does not allow .*\nThe customer was asked for another card .* on Mon 2 March, and none came so far\\. The case stays open until .* Mon 30 March.*";
  assert.match(said.get("Why did you stop?")!, new RegExp(`^It has not stopped; it waits:\n${reasons}$`));
  assert.match(said.get("What is planned now?")!, new RegExp(`^${reasons}$`));
  assert.match(said.get("What was known?")!, /none came within seven days/);
  await stage.transaction({ state: "PENDING" });
  await stage.transaction({ state: "PAID" });
  assert.match(await happened(), /An attempt was made, and its outcome is awaited\./);
  assert.match(await happened(), /An attempt succeeded\./);
});

test("why a case was given up is told once", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "R1" });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("Why did you stop?")!,
    /^Dunlin gave up on the invoice\.\nThe last attempt failed: .* \(code R1\)\.\nVisa does not allow .*\nA later retry will not succeed either\. After such a decline Dunlin does not ask for another card: .*\.$/,
  );
});

test("another card that was asked for when the case ended is not said to be still to come", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  stage.wait(DAY);
  await stage.invoice({ state: "UNCOLLECTIBLE" });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("What happened so far?")!,
    /Another card or payment method was requested, (and none came before the case ended|but a payment came first)/,
  );
});

test("where rules decide alone, the learned engine is not said to have decided", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const how = async () => (await loadAnswers()).get("How was it chosen?")!;
  assert.match(await how(), /^The learned engine decided, with version \d+ of the model\./);
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  assert.equal((await loadExplained()).decisions.at(-1)!.kind, "card_change");
  assert.match(await how(), /^Rules alone decided; the model was not used\./);
});

test("a rule that keeps a card from being tried is why another one is asked for, whatever the last try said", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.transaction({ networkDeclineCode: "51" });
  await stage.decide();
  const asked = (await loadAnswers()).get("Why a card change?")!;
  assert.match(
    asked,
    /not enough money.*\n.*\(code 14\)\.\nVisa does not allow .*\nBy this rule the same card or account is not charged again/,
  );
});

test("how often an invoice was in recovery before is said in words", async () => {
  const happened = async () => (await loadAnswers()).get("What happened so far?")!;
  for (const said of [null, "once", "2 times"]) {
    stage.wait(HOUR);
    await stage.invoice({ state: "UNPAID" });
    await stage.decide();
    assert.equal(/It was in recovery (.*) before\./.exec(await happened())?.[1] ?? null, said);
    stage.wait(HOUR);
    await stage.invoice({ state: "PAID" });
    await stage.decide();
  }
});
