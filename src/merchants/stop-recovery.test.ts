import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { waitForLockWait } from "../../test/database.ts";
import type { Reply } from "../delivery/https/exchange.ts";
import type { Event } from "../domain/event.ts";
import type { Merchant } from "../domain/merchant.ts";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import type { Database } from "../postgres/database.ts";
import { finishTransaction } from "../postgres/in-transaction.ts";
import { DAY, HOUR, MINUTE, openStage } from "../recovery/stage.fixture.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { insertEvents } from "../tables/events.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";

const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
});

const recoveryAudit = () => listAuditEntries(stage.db, merchant.id, { noun: "recovery" }, 10);
const end = async () => (await stage.cases()).map((kase) => kase.end);
const eventsNow = async () =>
  (await stage.events()).map(({ type, withdrawn, waiting }) => [
    type,
    withdrawn ? "withdrawn" : waiting ? "waiting" : "delivered",
  ]);
/** The transaction of whoever works on this goes on in `tx`. */
const asDatabase = (tx: Parameters<Parameters<Database["transaction"]>[0]>[0]): Database => ({
  ...stage.db,
  run: tx.run,
  transaction: async (work) => await finishTransaction(await work(tx)),
});

test("a person ends a case: what was not delivered goes back, dunning is completed once, and it is written down who did it", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  await stage.untilDecided();
  const before = await stage.events();
  const told: string[] = [];
  const done = await stage.stopRecovery((_, ids) => told.push(...ids));
  assert.ok(done !== null && typeof done === "object");
  assert.deepEqual(done.withdrawn.toSorted(), before.map(({ id }) => id).toSorted());
  assert.deepEqual(told, done.withdrawn, "a sender that has read them drops them");
  const ended = [
    ["pause_collection", "withdrawn"],
    ["recovery_action", "withdrawn"],
    ["complete_dunning", "waiting"],
  ];
  assert.deepEqual(await eventsNow(), ended);
  assert.equal((await stage.events()).at(-1)!.id, done.eventId);
  assert.deepEqual(
    (await stage.actions()).map(({ status }) => status),
    ["CANCELED"],
  );
  assert.deepEqual(await stage.cases(), [{ end: "stopped_by_hand", due: null }]);
  assert.equal((await stage.outcomes())[0]!.outcome, "lost", "it counts among those that were not recovered");

  stage.wait(DAY);
  await stage.decide();
  assert.match(String(await stage.stopRecovery()), /nothing to stop. The case ended already: a person stopped/);
  assert.deepEqual(await eventsNow(), ended);
  assert.deepEqual(
    (await recoveryAudit()).map(({ actor, deed, object, details }) => [actor, deed, object, details]),
    [["command line", "recovery.stopped", "inv_1", { reason: "they complained" }]],
  );
  const explained = await loadExplainedCase(stage.db, merchant.id, "inv_1", stage.now());
  const why = buildExplanation(explained!).find(({ question }) => question === "Why did you stop?");
  assert.match(why!.answer.join(), /^The case ended: a person stopped the recovery of this invoice; the audit log/);
});

test("a plan of which nobody was told is dropped, and without an endpoint nobody is told of the end", async () => {
  merchant = await stage.enter(false);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const done = await stage.stopRecovery();
  assert.deepEqual(done, { caseId: (await stage.caseIds())[0], eventId: null, withdrawn: [] });
  assert.deepEqual(
    (await stage.actions()).map(({ status, decided }) => [status, decided]),
    [["CANCELED", false]],
  );
  assert.deepEqual(await stage.events(), []);
});

test("what was delivered before may still come to something, and teaches", async () => {
  const learner = stage.learner(stage.ports.newId());
  for (const [state, status, outcome] of [
    ["FAILED", "FAILED", "lost"],
    ["PAID", "SUCCEEDED", "recovered"],
  ] as const) {
    merchant = await stage.enter();
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    const { id, ideal } = await stage.untilSent();
    await stage.stopRecovery();
    assert.equal((await stage.actions()).at(-1)!.status, "SENT");
    assert.deepEqual(await eventsNow(), [
      ["pause_collection", "delivered"],
      ["recovery_action", "delivered"],
      ["complete_dunning", "waiting"],
    ]);
    stage.at(ideal);
    await stage.transaction({ state, recoveryActionId: id });
    await stage.decide();
    const action = (await stage.actions()).at(-1)!;
    assert.deepEqual([action.status, action.executed], [status, true]);
    assert.deepEqual([await end(), (await stage.outcomes())[0]!.outcome], [["stopped_by_hand"], outcome]);
    stage.wait(HOUR);
    assert.equal(await learner.learnDue(), 1);
  }
});

test("further unpaid copies leave it stopped until the invoice has left recovery and failed anew", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.stopRecovery();
  stage.wait(HOUR);
  await stage.invoice({ amount: 5_000 });
  await stage.decide();
  assert.deepEqual(await end(), ["stopped_by_hand"]);
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  stage.wait(HOUR);
  await stage.invoice();
  await stage.decide();
  assert.deepEqual(await end(), ["stopped_by_hand", null]);
});

test("where Dunlin asks for nothing there is nothing to stop, and it says why", async () => {
  assert.equal(await stage.stopRecovery(), null, "there is no such invoice");
  await stage.invoice({ state: "PAID" });
  assert.match(String(await stage.stopRecovery()), /^There is nothing to stop\. This invoice was never in recovery/);

  merchant = await stage.enter(true, { shadow: true });
  await stage.invoice();
  await stage.decide();
  assert.match(String(await stage.stopRecovery()), /^There is nothing to stop\. The case began in shadow mode/);

  merchant = await stage.enter();
  await stage.start({ calibrationDays: 7 });
  await stage.invoice();
  await stage.decide();
  assert.match(String(await stage.stopRecovery()), /^There is nothing to stop\. An experiment left this customer/);
  assert.deepEqual([await end(), await stage.events(), await recoveryAudit()], [[null], [], []]);
});

test("an end that no step has seen yet stays the reason", async () => {
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.decide();
  await stage.subscription("CANCELED");
  assert.match(String(await stage.stopRecovery()), /ended already: the subscription was canceled/);
  assert.deepEqual(await end(), ["subscription_canceled"]);
  assert.deepEqual((await eventsNow()).at(-1), ["complete_dunning", "waiting"]);
  assert.deepEqual(await recoveryAudit(), []);
});

test("what a step makes while the stop waits for it is taken back", async () => {
  await stage.invoice();
  const [caseId] = await stage.caseIds();
  const of = { id: stage.ports.newId(), caseId: caseId!, invoiceId: "inv_1", createdAt: stage.now() };
  const event: Event = { ...of, type: "recovery_action", body: "{}" };
  const told: string[] = [];
  let stopping!: ReturnType<typeof stage.stopRecovery>;
  await stage.db.transaction(async (tx) => {
    await advanceMerchantClock(tx, merchant.id, stage.now());
    stopping = stage.stopRecovery((_, ids) => told.push(...ids));
    await waitForLockWait(stage.db);
    await insertEvents(tx, merchant.id, [event]);
  });
  await stopping;
  assert.deepEqual(told, [event.id]);
  assert.deepEqual(await end(), ["stopped_by_hand"]);
});

test("a payment that comes first is the end, and nobody is told to complete dunning", async () => {
  await stage.invoice();
  await stage.decide();
  stage.wait(MINUTE);
  let stopping!: ReturnType<typeof stage.stopRecovery>;
  await stage.db.transaction(async (tx) => {
    await stage.invoice({ state: "PAID" }, asDatabase(tx));
    stopping = stage.stopRecovery();
    await waitForLockWait(stage.db);
  });
  assert.match(String(await stopping), /ended already: the invoice is paid/);
  await stage.decide();
  assert.deepEqual(await end(), ["paid"]);
  assert.deepEqual(await eventsNow(), [["pause_collection", "withdrawn"]]);
  assert.deepEqual(await recoveryAudit(), []);
});

test("a payment that comes while the stop is under way finds the case stopped, and lets the invoice come back", async () => {
  await stage.invoice();
  await stage.decide();
  stage.wait(MINUTE);
  let paying!: ReturnType<typeof stage.invoice>;
  await stage.db.transaction(async (tx) => {
    await stage.stopRecovery(undefined, asDatabase(tx));
    paying = stage.invoice({ state: "PAID" });
    await waitForLockWait(stage.db);
  });
  await paying;
  await stage.decide();
  assert.deepEqual(await end(), ["stopped_by_hand"]);
  assert.deepEqual((await eventsNow()).at(-1)![0], "complete_dunning");
  stage.wait(MINUTE);
  await stage.invoice();
  assert.deepEqual(await end(), ["stopped_by_hand", null]);
});

test("of two stops at once one stops it", async () => {
  await stage.invoice();
  await stage.decide();
  const done = await Promise.all([stage.stopRecovery(), stage.stopRecovery()]);
  assert.equal(done.filter((each) => typeof each === "object").length, 1);
  assert.equal((await stage.events()).filter(({ type }) => type === "complete_dunning").length, 1);
  assert.equal((await recoveryAudit()).length, 1);
});

const OK: Reply = { outcome: "response", status: 200, retryAfter: null, text: null };

test("an instruction that is on the wire is canceled, and still counts when the merchant carried it out", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  await stage.deliver();
  await stage.untilDecided();
  await stage.send(async () => {
    await stage.stopRecovery();
    return OK;
  });
  await stage.decide();
  const [action] = await stage.actions();
  assert.equal(action!.status, "CANCELED");
  stage.at(action!.ideal);
  await stage.transaction({ state: "PAID", recoveryActionId: action!.id });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
  assert.deepEqual([await end(), (await stage.outcomes())[0]!.outcome], [["stopped_by_hand"], "recovered"]);
});
