import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, HOUR, MINUTE, openStage } from "./stage.fixture.ts";

// Another card is asked for, and banks renew expired ones: whatever comes first.

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
/** The customer's new card, as another bill shows it. */
const newCard = {
  invoiceId: "inv_other",
  state: "PAID",
  cardFingerprint: "fp_2",
  networkDeclineCode: undefined,
} as const;

/** The card has expired, and the customer was asked for another one a moment ago. */
async function waitUntilAsked() {
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  await stage.deliver();
  await stage.decide();
}

/** The planned retry is asked for, and has failed like the charge before it. */
async function failRetry() {
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal.getTime() + MINUTE);
  await stage.transaction({ ...expired, recoveryActionId: id });
  await stage.decide();
}

test("while the customer is asked for another card an expired one is tried as well, and may have been renewed", async () => {
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

test("a try that fails on the expired card asks for no second card, and the next one follows", async () => {
  await waitUntilAsked();
  await failRetry();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT", "RETRY FAILED", "RETRY SCHEDULED"]);
});

test("where no other card came within seven days the expired one is tried all the same, and none is asked for again", async () => {
  // Its tries are spread evenly, whatever was learned.
  await stage.set({ engine: "static" });
  await waitUntilAsked();
  for (let tries = 0; tries < 8; tries++) await failRetry();
  assert.deepEqual(await listActions(), ["CARD_CHANGE EXPIRED", ...Array(8).fill("RETRY FAILED")]);
  assert.equal((await stage.cases())[0]!.end, "budget_used");
});

test("a new card that comes meanwhile takes the place of the planned try, within the same action", async () => {
  await waitUntilAsked();
  const [, planned] = await stage.actions();
  stage.wait(2 * HOUR);
  await stage.transaction(newCard);
  await stage.decide();
  const [, retry, ...more] = await stage.actions();
  assert.deepEqual([retry!.id, more.length], [planned!.id, 0]);
  assert.ok(retry!.ideal.getTime() - stage.now().getTime() <= 2 * HOUR);
});

test("the last try of the budget is kept for the new card, as long as it may come", async () => {
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

test("once the seven days are over the last try is made on the expired card", async () => {
  await stage.set({ budget: 1 });
  await waitUntilAsked();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT"]);
  assert.match(
    (await loadAnswers()).get("What was known?")!,
    /The customer is asked for another card or payment method, and it may still come/,
  );
  stage.wait(7 * DAY + MINUTE);
  await stage.decide();
  assert.deepEqual(await listActions(), ["CARD_CHANGE EXPIRED", "RETRY SCHEDULED"]);
  const said = await loadAnswers();
  assert.match(said.get("What was known?")!, /none came within seven days/);
  assert.match(
    said.get("What is planned now?")!,
    /The customer was asked for another card, and none came; banks renew/,
  );
  await failRetry();
  assert.equal((await stage.cases())[0]!.end, "budget_used");
});

test("a new card that has expired, too, is asked to be changed before it is tried again", async () => {
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

test("a card seen after the decision to ask for one, and before the moment that it names, is the one that was asked for", async () => {
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

test("an endpoint that takes no card change is asked for a try after two of them, and for a card change again after that", async () => {
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
  assert.match((await loadAnswers()).get("What is planned now?")!, /\. Banks renew such cards without notice/);
  await failRetry();
  assert.deepEqual(await listActions(), [failed, failed, "RETRY FAILED", "CARD_CHANGE SCHEDULED"]);
});

test("a lost card is not tried while another one is awaited", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  assert.deepEqual(await listActions(), ["CARD_CHANGE SENT"]);
});

test("explain says why a card is tried whose change was asked for, and of one that paid what became of the other request", async () => {
  await waitUntilAsked();
  const said = await loadAnswers();
  assert.match(
    said.get("What is planned now?")!,
    /^A retry .*The customer is asked for another card; banks renew such cards/s,
  );
  assert.match(
    said.get("Why a card change?")!,
    /Banks renew such cards without notice, so this one may be retried too/,
  );
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal);
  await stage.transaction({ state: "PAID", networkDeclineCode: undefined, recoveryActionId: id });
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("What happened so far?")!,
    /Another card or payment method was requested, and the invoice was paid on .*/,
  );
});

test("where another card comes first, that is why not today; and of a lost one no even tries were worked out since it was needed", async () => {
  merchantId = (await stage.enter(false)).id;
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  assert.match((await loadAnswers()).get("Why not today?")!, /^Another card or payment method comes first/);
  merchantId = (await stage.enter()).id;
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  assert.match(
    (await loadAnswers()).get("What would six evenly spaced retries have done?")!,
    /another card or payment method was needed/,
  );
});

test("in shadow mode nobody is said to be asked, the merchant's own tries are held beside a try, and of a lost card beside the request", async () => {
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
    const said = await loadAnswers();
    assert.doesNotMatch(`${said.get("What was known?")} ${said.get("Which rules?")}`, /asked for/);
    if (kind === "retry") {
      assert.doesNotMatch(said.get("What is planned now?")!, /Another card/);
      assert.match(
        said.get("Why a card change?")!,
        /^Dunlin would also ask for another card or payment method at once\./,
      );
    }
  }
});
