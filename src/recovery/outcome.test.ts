import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { replayEvents } from "../tables/delivery-states.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
beforeEach(() => stage.enter());

test("a paid copy dated after the first delivery attempt makes the action succeed and ends the case", async () => {
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
  test(`a merchant that pays at once, pushes the ${by} and only then answers the webhook makes the action succeed`, async () => {
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

test("an invoice that was given up and is paid after all, for both of what is known of it before, makes the action succeed", async () => {
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

test("paid before the first delivery attempt, the plan is canceled and nothing goes out", async () => {
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

test("a payment that the customer made cancels the action, also when the paid copy came first", async () => {
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

test("a debit that the customer began before the failure, and that was paid after the retry, cancels the action", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilSent();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
  const began = new Date(START.getTime() - DAY);
  await stage.transaction({ state: "PAID", initiator: "CUSTOMER", createdAt: began });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "CANCELED");
});

test("a failed transaction settles the retry as failed and the next one is planned, with the card's country", async () => {
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

test("an unpaid copy dated after the ideal time says failed, and a payment within 48 hours turns it", async () => {
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

test("no word within 48 hours expires the action, and a transaction that names it still counts", async () => {
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

test("an exhausted event leaves the action undelivered, and the next one is planned", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.untilExhausted();
  const [first, second] = await stage.actions();
  assert.equal(first!.status, "DELIVERY_FAILED");
  assert.equal(second!.status, "SCHEDULED");
});

test("a new card after a card change brings a retry soon", async () => {
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

test("a retry that its transaction answers counts once: SEPA allows a second one after AM04", async () => {
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

test("a replay that is delivered makes an undelivered action wait for its outcome again", async () => {
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

test("an instruction that was carried out, and whose webhook got no answer, is taken back and not waited for", async () => {
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

test("an instruction on its way by a replay is taken back when it turns out that it was carried out, and where that was known before", async () => {
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

test("what was carried out although nobody answered its webhook is not replayed", async () => {
  const [action] = await createUndeliveredAction();
  await stage.transaction({ recoveryActionId: action!.id });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "FAILED");
  assert.equal((await stage.replay(action!.id)).skip, "it was carried out");
});

/** An action whose webhook used up its attempts, and the plan that follows it. */
async function createUndeliveredAction() {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  await stage.untilExhausted();
  return await stage.actions();
}
