import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, HOUR, MINUTE, openStage } from "./stage.fixture.ts";

// Dunlin requests another card, but the bank may renew the expired one first.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const expired = { networkDeclineCode: "54" };
const listActions = async () => (await stage.actions()).map(({ type, status }) => `${type} ${status}`);

const loadAnswers = async () => {
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  return new Map(buildExplanation(explained).map(({ question, answer }) => [question, answer.join("\n")]));
};
/** The customer's new card, as used on another invoice. */
const newCard = {
  invoiceId: "inv_other",
  state: "PAID",
  cardFingerprint: "fp_2",
  networkDeclineCode: undefined,
} as const;

/** Runs a case with an expired card until the card change has just been delivered. */
async function waitUntilAsked() {
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  await stage.deliver();
  await stage.decide();
}

/** Sends the planned retry and reports that it failed like the charge before it. */
async function failRetry() {
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal.getTime() + MINUTE);
  await stage.transaction({ ...expired, recoveryActionId: id });
  await stage.decide();
}

test("an expired card is retried while a card change is requested, as it may have been renewed", async () => {
  await waitUntilAsked();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT", "RETRY SCHEDULED"]);
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID", networkDeclineCode: undefined, recoveryActionId: sent.id });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.equal((await listActions()).at(-1), "RETRY SUCCEEDED");
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["paid"],
  );
});

test("a failed retry on the expired card requests no second card change, and the next retry follows", async () => {
  await waitUntilAsked();
  await failRetry();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT", "RETRY FAILED", "RETRY SCHEDULED"]);
});

test("an expired card is still retried, without another request, when no other card came within seven days", async () => {
  // Fixed rules space the retries evenly, whatever the model has learned.
  await stage.set({ engine: "static" });
  await waitUntilAsked();
  for (let retries = 0; retries < 8; retries++) await failRetry();
  assert.deepEqual(await listActions(), ["CARD_CHANGE EXPIRED", ...Array(8).fill("RETRY FAILED")]);
  assert.equal((await stage.cases())[0]!.end, "budget_used");
});

test("a new card replaces the planned retry within the same action", async () => {
  await waitUntilAsked();
  const [, planned] = await stage.actions();
  stage.wait(2 * HOUR);
  await stage.transaction(newCard);
  await stage.decide();
  const [, retry, ...more] = await stage.actions();
  assert.deepEqual([retry!.id, more.length], [planned!.id, 0]);
  assert.ok(retry!.ideal.getTime() - stage.now().getTime() <= 2 * HOUR);
});

test("the last retry of the budget is kept for the new card while it may still come", async () => {
  await stage.set({ budget: 2, windowDays: 8, engine: "static" });
  await waitUntilAsked();
  await failRetry();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT", "RETRY FAILED"]);
  const { ideal } = (await stage.actions())[0]!;
  stage.wait(HOUR);
  assert.ok(stage.now().getTime() < ideal.getTime() + 7 * DAY);
  await stage.transaction(newCard);
  await stage.decide();
  assert.equal((await listActions()).at(-1), "RETRY SCHEDULED");
});

test("the last retry is made on the expired card when the seven days are over", async () => {
  await stage.set({ budget: 1 });
  await waitUntilAsked();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT"]);
  assert.match(
    (await loadAnswers()).get("Input data")!,
    /The customer is asked for another card or payment method, and it may still come/,
  );
  stage.wait(7 * DAY + MINUTE);
  await stage.decide();
  assert.deepEqual(await listActions(), ["CARD_CHANGE EXPIRED", "RETRY SCHEDULED"]);
  const answers = await loadAnswers();
  assert.match(answers.get("Input data")!, /none came within seven days/);
  assert.match(
    answers.get("Next step")!,
    /The customer was asked for another card, and none came\. Banks sometimes renew/,
  );
  await failRetry();
  assert.equal((await stage.cases())[0]!.end, "budget_used");
});

test("Dunlin requests a card change before a retry when the new card has expired too", async () => {
  await waitUntilAsked();
  stage.wait(HOUR);
  await stage.transaction(newCard);
  await stage.decide();
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal.getTime() + MINUTE);
  await stage.transaction({ ...expired, cardFingerprint: "fp_2", recoveryActionId: id });
  await stage.decide();
  assert.equal((await listActions()).at(-1), "CARD_CHANGE SCHEDULED");
});

test("a card seen between the decision to request a change and its scheduled time counts as the requested one", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  stage.wait(50 * MINUTE);
  await stage.exhaust();
  await stage.decide();
  await stage.untilSent();
  stage.wait(10 * MINUTE);
  await stage.transaction(newCard);
  await stage.decide();
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal.getTime() + MINUTE);
  await stage.transaction({ networkDeclineCode: "41", cardFingerprint: "fp_2", recoveryActionId: id });
  await stage.decide();
  assert.equal((await listActions()).at(-1), "CARD_CHANGE SCHEDULED");
});

test("Dunlin requests a retry after two undelivered card changes, and then a card change again", async () => {
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  const failed = "CARD_CHANGE DELIVERY_FAILED";
  const refused = async () => {
    stage.wait(46 * MINUTE);
    await stage.exhaust();
    await stage.decide();
  };
  await refused();
  assert.deepEqual(await listActions(), [failed, "CARD_CHANGE SCHEDULED"]);
  await stage.untilDecided();
  await refused();
  assert.deepEqual(await listActions(), [failed, failed, "RETRY SCHEDULED"]);
  assert.match(
    (await loadAnswers()).get("Next step")!,
    /\. Banks sometimes renew such cards without telling the merchant/,
  );
  await failRetry();
  assert.deepEqual(await listActions(), [failed, failed, "RETRY FAILED", "CARD_CHANGE SCHEDULED"]);
});

test("a lost card is not retried while a card change is awaited", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT"]);
});

test("explain says why a card is retried during a card change, and how that request ended when the card paid", async () => {
  await waitUntilAsked();
  const answers = await loadAnswers();
  assert.match(
    answers.get("Next step")!,
    /^A retry .*The customer is asked for another card\. Banks sometimes renew such cards/s,
  );
  assert.match(
    answers.get("Why a new card?")!,
    /Banks sometimes renew such cards without telling the merchant, so Dunlin may retry the current card too/,
  );
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal);
  await stage.transaction({ state: "PAID", networkDeclineCode: undefined, recoveryActionId: id });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("History")!,
    /Another card or payment method was requested, and the invoice was paid on .*/,
  );
});

test("explain gives the card change as the reason for no retry today, and compares no evenly spaced retries for a lost card", async () => {
  merchantId = (await stage.enter(false)).id;
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("Why not today?")!,
    /^The customer is first asked for another card or payment method\./,
  );
  merchantId = (await stage.enter()).id;
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("Compared with six evenly spaced retries")!,
    /another card or payment method was needed/,
  );
});

test("explain in shadow mode claims no request, and compares the merchant's attempts with the planned retry or card change", async () => {
  for (const [code, kind] of [
    ["54", "retry"],
    ["41", "card_change"],
  ] as const) {
    merchantId = (await stage.enter(true, { shadow: true })).id;
    await stage.invoice();
    await stage.transaction({ networkDeclineCode: code });
    await stage.decide();
    const { decisions } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
    assert.deepEqual(
      decisions.map((decision) => decision.kind),
      [kind],
    );
    const answers = await loadAnswers();
    assert.doesNotMatch(`${answers.get("Input data")} ${answers.get("Limits")}`, /asked for/);
    if (kind === "retry") {
      assert.doesNotMatch(answers.get("Next step")!, /Another card/);
      assert.match(
        answers.get("Why a new card?")!,
        /^Dunlin would also ask for another card or payment method at once\./,
      );
    }
  }
});
