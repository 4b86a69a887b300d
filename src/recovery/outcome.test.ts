import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { replayEvents } from "../tables/delivery-states.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
beforeEach(() => stage.enter());

test("an action succeeds and the case ends when a paid version is dated after the first delivery attempt", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilSent();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const [action] = await stage.actions();
  assert.equal(action!.status, "SUCCEEDED");
  assert.equal(action!.executed, true);
  assert.deepEqual(await stage.cases(), [{ end: "paid", due: null }]);
  assert.equal(
    (await stage.events()).some(({ type }) => type === "complete_dunning"),
    false,
  );
});

for (const by of ["invoice", "transaction"] as const)
  test(`an action succeeds when the merchant charges at once and pushes the ${by} before it answers the webhook`, async () => {
    await stage.invoice();
    await stage.decide();
    await stage.deliver();
    await stage.decide();
    stage.at((await stage.actions())[0]!.ideal.getTime() - 49 * MINUTE);
    await stage.decide();
    await stage.send(async () => {
      stage.wait(2_000);
      await (by === "invoice" ? stage.invoice({ state: "PAID" }) : stage.transaction({ state: "PAID" }));
      await stage.decide();
      stage.wait(500);
      return { outcome: "response", status: 200, retryAfter: null, text: null };
    });
    await stage.decide();
    assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
    assert.equal((await stage.outcomes())[0]!.outcome, "recovered");
  });

test("an action succeeds when an invoice that was given up is paid later, whether or not the retry was reported as failed", async () => {
  for (const state of ["UNCOLLECTIBLE", "VOIDED", "DRAFT"] as const)
    for (const failedBefore of [false, true]) {
      await stage.enter();
      await stage.invoice();
      await stage.decide();
      await stage.untilSent();
      stage.wait(HOUR);
      if (failedBefore) await stage.invoice({ state: "UNPAID" });
      await stage.decide();
      stage.wait(MINUTE);
      await stage.invoice({ state });
      await stage.decide();
      stage.wait(HOUR);
      await stage.invoice({ state: "PAID" });
      await stage.decide();
      assert.equal((await stage.actions())[0]!.status, "SUCCEEDED", `${state}, ${failedBefore}`);
    }
});

test("a plan is canceled and nothing is sent when the invoice is paid before the first delivery attempt", async () => {
  await stage.invoice();
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  assert.deepEqual(
    (await stage.events()).map(({ type, withdrawn, waiting }) => ({ type, withdrawn, waiting })),
    [{ type: "pause_collection", withdrawn: true, waiting: false }],
  );
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).map(({ status }) => status),
    ["CANCELED"],
  );
});

test("an action is canceled when the customer pays, even if the paid version comes first", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilSent();
  stage.wait(HOUR);
  const paidAt = stage.now();
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
  await stage.transaction({ state: "PAID", initiator: "CUSTOMER", createdAt: paidAt });
  await stage.decide();
  const [action] = await stage.actions();
  assert.deepEqual([action!.status, action!.executed], ["CANCELED", false]);
});

test("an action is canceled when a debit that the customer began before the failure is paid after the retry", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilSent();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
  const startedAt = new Date(START.getTime() - DAY);
  await stage.transaction({ state: "PAID", initiator: "CUSTOMER", createdAt: startedAt });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "CANCELED");
});

test("a failed transaction settles the retry as failed, and the next one is planned with the card's country", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + MINUTE);
  await stage.transaction({ id: "txn_retry", recoveryActionId: sent.id, initiator: "RECOVERY_ACTION" });
  await stage.decide();
  const [first, second] = await stage.actions();
  assert.deepEqual([first!.status, first!.transaction, first!.country], ["FAILED", "txn_retry", "DE"]);
  assert.equal(first!.attempted!.getTime(), sent.ideal.getTime() + MINUTE);
  assert.deepEqual([second!.type, second!.status], ["RETRY", "SCHEDULED"]);
  assert.ok(second!.ideal.getTime() > sent.ideal.getTime() + 12 * HOUR);
});

test("an action fails when an unpaid version is dated after the ideal time, and succeeds when a payment follows within 48 hours", async () => {
  await stage.invoice();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + HOUR);
  await stage.invoice();
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "FAILED");
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).map(({ status }) => status),
    ["SUCCEEDED", "CANCELED"],
  );
});

test("an action expires without a report within 48 hours, and a transaction that names it still counts", async () => {
  await stage.invoice();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + 48 * HOUR);
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "EXPIRED");
  await stage.transaction({
    recoveryActionId: sent.id,
    state: "PAID",
    createdAt: new Date(sent.ideal.getTime() + MINUTE),
  });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
  assert.equal((await stage.cases())[0]!.end, "paid");
});

test("an action stays undelivered when its event is exhausted, and the next one is planned", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilExhausted();
  const [first, second] = await stage.actions();
  assert.equal(first!.status, "DELIVERY_FAILED");
  assert.equal(second!.status, "SCHEDULED");
});

test("a retry follows soon when a card change brings a new card", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  stage.wait(2 * DAY);
  await stage.transaction({
    invoiceId: "inv_other",
    state: "PAID",
    cardFingerprint: "fp_2",
    networkDeclineCode: undefined,
  });
  await stage.decide();
  const [, retry] = await stage.actions();
  assert.equal(retry!.type, "RETRY");
  assert.ok(retry!.ideal.getTime() - stage.now().getTime() <= 24 * HOUR);
});

test("a retry counts once when its transaction answers it: SEPA allows a second one after AM04", async () => {
  const debit = { paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AM04" };
  await stage.invoice();
  await stage.transaction(debit);
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + MINUTE);
  await stage.transaction({ ...debit, recoveryActionId: sent.id });
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).map(({ type, status }) => [type, status]),
    [
      ["RETRY", "FAILED"],
      ["RETRY", "SCHEDULED"],
    ],
  );
});

test("an undelivered action waits for its outcome again when a replay is delivered", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilExhausted();
  const [undelivered] = await stage.actions();
  assert.deepEqual(await stage.replay(undelivered!.id), { eventId: undelivered!.id, skip: null });
  stage.wait(MINUTE);
  await stage.deliver();
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SENT");
  assert.equal((await stage.replay(undelivered!.id)).skip, "it was delivered");
});

test("an executed instruction is withdrawn and no longer awaited when its webhook got no answer", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  const [planned] = await stage.actions();
  stage.at(planned!.ideal.getTime() - 49 * MINUTE);
  await stage.decide();
  await stage.send(async () => {
    stage.wait(5_000);
    await stage.transaction({ recoveryActionId: planned!.id, initiator: "RECOVERY_ACTION" });
    stage.wait(25_000);
    return { outcome: "failed", error: "no status line within 30 s" };
  });
  await stage.decide();
  const [failed, next] = await stage.actions();
  assert.deepEqual([failed!.status, next!.status], ["FAILED", "SCHEDULED"]);
  const event = (await stage.events()).find(({ id }) => id === failed!.id)!;
  assert.deepEqual([event.waiting, event.withdrawn], [false, true]);
  stage.at(planned!.ideal.getTime() + 48 * HOUR);
  await stage.decide();
  assert.ok((await stage.cases())[0]!.due! > stage.now());
});

test("a replayed instruction is withdrawn when its execution is reported before or after the replay", async () => {
  for (const knownBefore of [false, true]) {
    const merchant = await stage.enter();
    const [action] = await createUndeliveredAction();
    const steps = [
      () => stage.transaction({ recoveryActionId: action!.id }),
      () => replayEvents(stage.db, merchant.id, [action!.id], stage.now()),
    ];
    for (const next of knownBefore ? steps : steps.reverse()) {
      await next();
      await stage.decide();
    }
    stage.wait(MINUTE);
    await stage.invoice();
    await stage.decide();
    assert.equal((await stage.actions())[0]!.status, "FAILED");
    const event = (await stage.events()).find(({ id }) => id === action!.id)!;
    assert.deepEqual([event.waiting, event.withdrawn], [false, true], `known before: ${knownBefore}`);
  }
});

test("an executed instruction is not replayed when its webhook was never answered", async () => {
  const [action] = await createUndeliveredAction();
  await stage.transaction({ recoveryActionId: action!.id });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "FAILED");
  assert.equal((await stage.replay(action!.id)).skip, "it was carried out");
});

/** Creates an action with an exhausted webhook, and the plan that follows it. */
async function createUndeliveredAction() {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  await stage.untilExhausted();
  return await stage.actions();
}
