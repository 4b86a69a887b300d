import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { explain } from "./explain.ts";
import { explanationOf } from "./explanation.ts";
import { DAY, HOUR, MINUTE, openStage } from "./stage.fixture.ts";

// Another card is asked for, and banks renew expired ones: whatever comes first.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const expired = { networkDeclineCode: "54" };
const listed = async () => (await stage.actions()).map(({ type, status }) => `${type} ${status}`);

/** The card has expired, and the customer was asked for another one a moment ago. */
async function asked() {
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  await stage.deliver();
  await stage.decide();
}

/** The planned retry is asked for, and has failed like the charge before it. */
async function failsAgain() {
  const { id, ideal } = await stage.untilSent();
  stage.at(ideal.getTime() + MINUTE);
  await stage.transaction({ ...expired, recoveryActionId: id });
  await stage.decide();
}

test("while the customer is asked for another card an expired one is tried as well, and may have been renewed", async () => {
  await asked();
  assert.deepEqual(await listed(), ["CARD_CHANGE SENT", "RETRY SCHEDULED"]);
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID", networkDeclineCode: undefined, recoveryActionId: sent.id });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.equal((await listed()).at(-1), "RETRY SUCCEEDED");
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["paid"],
  );
});

test("a try that fails on the expired card asks for no second card, and the next one follows", async () => {
  await asked();
  await failsAgain();
  assert.deepEqual(await listed(), ["CARD_CHANGE SENT", "RETRY FAILED", "RETRY SCHEDULED"]);
});

test("where no other card came within seven days the expired one is tried all the same, and none is asked for again", async () => {
  // Its tries are spread evenly, whatever was learned.
  await stage.set({ engine: "static" });
  await asked();
  for (let tries = 0; tries < 8; tries++) await failsAgain();
  assert.deepEqual(await listed(), ["CARD_CHANGE EXPIRED", ...Array(8).fill("RETRY FAILED")]);
  assert.equal((await stage.cases())[0]!.end, "budget_used");
});

test("a new card that comes meanwhile takes the place of the planned try, within the same action", async () => {
  await asked();
  const [, planned] = await stage.actions();
  stage.wait(2 * HOUR);
  await stage.transaction({
    invoiceId: "inv_other",
    state: "PAID",
    cardFingerprint: "fp_2",
    networkDeclineCode: undefined,
  });
  await stage.decide();
  const [, retry, ...more] = await stage.actions();
  assert.deepEqual([retry!.id, more.length], [planned!.id, 0]);
  assert.ok(retry!.ideal.getTime() - stage.now().getTime() <= 2 * HOUR);
});

test("with the budget used, the customer still has the seven days that they were given", async () => {
  await stage.set({ budget: 1, windowDays: 8 });
  await asked();
  await failsAgain();
  const isBefore = stage.now().getTime() < (await stage.actions())[0]!.ideal.getTime() + 7 * DAY;
  assert.deepEqual([(await stage.cases())[0]!.end, isBefore], [null, true]);
  stage.at((await stage.actions())[0]!.ideal.getTime() + 7 * DAY);
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "budget_used");
});

test("a lost card is not tried while another one is awaited", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  assert.deepEqual(await listed(), ["CARD_CHANGE SENT"]);
});

test("explain says why a card is tried whose change was asked for", async () => {
  await asked();
  const explained = (await explain(stage.db, merchantId, "inv_1", stage.now()))!;
  const answers = new Map(explanationOf(explained).map(({ question, answer }) => [question, answer.join("\n")]));
  assert.match(answers.get("What is planned now?")!, /^A retry .*Another card is asked for; banks renew such cards/s);
  assert.match(
    answers.get("Why a card change?")!,
    /is asked for another card or payment method now; banks renew such cards/,
  );
});

test("in shadow mode the try beside the card change is what the merchant's own tries are held beside", async () => {
  await stage.set({ shadow: true });
  await stage.invoice();
  await stage.transaction(expired);
  await stage.decide();
  const kinds = (await explain(stage.db, merchantId, "inv_1", stage.now()))!.decisions.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["retry"]);
});
