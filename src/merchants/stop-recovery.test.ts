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
const endReasons = async () => (await stage.cases()).map((recoveryCase) => recoveryCase.end);
const eventsNow = async () =>
  (await stage.events()).map(({ type, withdrawn, waiting }) => [
    type,
    withdrawn ? "withdrawn" : waiting ? "waiting" : "delivered",
  ]);
/** Runs its transactions inside `tx`. */
const asDatabase = (tx: Parameters<Parameters<Database["transaction"]>[0]>[0]): Database => ({
  ...stage.db,
  run: tx.run,
  transaction: async (work) => await finishTransaction(await work(tx)),
});

test("stopping a case withdraws undelivered events, completes dunning once, and logs the person", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  await stage.untilDecided();
  const before = await stage.events();
  const notified: string[] = [];
  const result = await stage.stopRecovery((_, ids) => notified.push(...ids));
  assert.ok(result !== null && typeof result === "object");
  assert.deepEqual(result.withdrawn.toSorted(), before.map(({ id }) => id).toSorted());
  assert.deepEqual(notified, result.withdrawn, "the sender can drop prefetched events");
  const expectedEvents = [
    ["pause_collection", "withdrawn"],
    ["recovery_action", "withdrawn"],
    ["complete_dunning", "waiting"],
  ];
  assert.deepEqual(await eventsNow(), expectedEvents);
  assert.equal((await stage.events()).at(-1)!.id, result.eventId);
  assert.deepEqual(
    (await stage.actions()).map(({ status }) => status),
    ["CANCELED"],
  );
  assert.deepEqual(await stage.cases(), [{ end: "stopped_by_hand", due: null }]);
  assert.equal((await stage.outcomes())[0]!.outcome, "lost", "it counts as not recovered");

  stage.wait(DAY);
  await stage.decide();
  assert.match(String(await stage.stopRecovery()), /nothing to stop. The case ended already: a person stopped/);
  assert.deepEqual(await eventsNow(), expectedEvents);
  assert.deepEqual(
    (await recoveryAudit()).map(({ actor, operation, object, details }) => [actor, operation, object, details]),
    [["command line", "recovery.stopped", "inv_1", { reason: "they complained" }]],
  );
  const explained = await loadExplainedCase(stage.db, merchant.id, "inv_1", stage.now());
  const why = buildExplanation(explained!).find(({ question }) => question === "Why did it stop?");
  assert.match(why!.answer.join(), /^The case ended: the recovery of this invoice was stopped by the command line\.$/);
});

test("stopping a case drops its plan and sends nothing when the merchant has no endpoint", async () => {
  merchant = await stage.enter(false);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const result = await stage.stopRecovery();
  assert.deepEqual(result, { caseId: (await stage.caseIds())[0], eventId: null, withdrawn: [] });
  assert.deepEqual(
    (await stage.actions()).map(({ status, decided }) => [status, decided]),
    [["CANCELED", false]],
  );
  assert.deepEqual(await stage.events(), []);
});

test("an instruction delivered before the stop can still succeed and trains the model", async () => {
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
    assert.deepEqual([await endReasons(), (await stage.outcomes())[0]!.outcome], [["stopped_by_hand"], outcome]);
    stage.wait(HOUR);
    assert.equal(await learner.learnDue(), 1);
  }
});

test("a stopped invoice stays stopped until it leaves recovery and fails again", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.stopRecovery();
  stage.wait(HOUR);
  await stage.invoice({ amount: 5_000 });
  await stage.decide();
  assert.deepEqual(await endReasons(), ["stopped_by_hand"]);
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  stage.wait(HOUR);
  await stage.invoice();
  await stage.decide();
  assert.deepEqual(await endReasons(), ["stopped_by_hand", null]);
});

test("a stop explains why there is nothing to stop when Dunlin sends no instructions", async () => {
  assert.equal(await stage.stopRecovery(), null, "no such invoice");
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
  assert.match(String(await stage.stopRecovery()), /^There is nothing to stop\. An experiment assigned this customer/);
  assert.deepEqual([await endReasons(), await stage.events(), await recoveryAudit()], [[null], [], []]);
});

test("an end that no step has seen yet remains the reason", async () => {
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.decide();
  await stage.subscription("CANCELED");
  assert.match(String(await stage.stopRecovery()), /ended already: the subscription was canceled/);
  assert.deepEqual(await endReasons(), ["subscription_canceled"]);
  assert.deepEqual((await eventsNow()).at(-1), ["complete_dunning", "waiting"]);
  assert.deepEqual(await recoveryAudit(), []);
});

test("a stop withdraws the events of a step that it waits for", async () => {
  await stage.invoice();
  const [caseId] = await stage.caseIds();
  const of = { id: stage.ports.newId(), caseId: caseId!, invoiceId: "inv_1", createdAt: stage.now() };
  const event: Event = { ...of, type: "recovery_action", body: "{}" };
  const notified: string[] = [];
  let stopping!: ReturnType<typeof stage.stopRecovery>;
  await stage.db.transaction(async (tx) => {
    await advanceMerchantClock(tx, merchant.id, stage.now());
    stopping = stage.stopRecovery((_, ids) => notified.push(...ids));
    await waitForLockWait(stage.db);
    await insertEvents(tx, merchant.id, [event]);
  });
  await stopping;
  assert.deepEqual(notified, [event.id]);
  assert.deepEqual(await endReasons(), ["stopped_by_hand"]);
});

test("a payment that commits first ends the case, and the stop sends no complete_dunning", async () => {
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
  assert.deepEqual(await endReasons(), ["paid"]);
  assert.deepEqual(await eventsNow(), [["pause_collection", "withdrawn"]]);
  assert.deepEqual(await recoveryAudit(), []);
});

test("a payment during the stop leaves the case stopped, and the invoice can enter recovery again", async () => {
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
  assert.deepEqual(await endReasons(), ["stopped_by_hand"]);
  assert.deepEqual((await eventsNow()).at(-1)![0], "complete_dunning");
  stage.wait(MINUTE);
  await stage.invoice();
  assert.deepEqual(await endReasons(), ["stopped_by_hand", null]);
});

test("only one of two simultaneous stops takes effect", async () => {
  await stage.invoice();
  await stage.decide();
  const result = await Promise.all([stage.stopRecovery(), stage.stopRecovery()]);
  assert.equal(result.filter((each) => typeof each === "object").length, 1);
  assert.equal((await stage.events()).filter(({ type }) => type === "complete_dunning").length, 1);
  assert.equal((await recoveryAudit()).length, 1);
});

const OK: Reply = { outcome: "response", status: 200, retryAfter: null, text: null };

test("an instruction in flight is canceled by a stop, and still counts when the merchant carries it out", async () => {
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
  assert.deepEqual([await endReasons(), (await stage.outcomes())[0]!.outcome], [["stopped_by_hand"], "recovered"]);
});
