import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY, HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
beforeEach(() => stage.enter());

test("an unpaid invoice opens a case, pauses collection at once, and plans a retry within the window", async () => {
  await stage.invoice();
  await stage.decide();
  assert.deepEqual(
    (await stage.events()).map(({ type }) => type),
    ["pause_collection"],
  );
  const [planned] = await stage.actions();
  assert.equal(planned!.type, "RETRY");
  assert.equal(planned!.status, "SCHEDULED");
  assert.equal(planned!.decided, false);
  assert.ok(planned!.ideal > stage.now() && planned!.ideal.getTime() < START.getTime() + 28 * DAY);
  assert.equal((await stage.cases())[0]!.due!.getTime(), planned!.ideal.getTime() - 49 * MINUTE);
});

test("the event is queued 49 minutes ahead, once, with the action's id and time", async () => {
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.decide();
  const sent = await stage.untilSent();
  assert.equal(sent.status, "SENT");
  const event = (await stage.events()).find(({ type }) => type === "recovery_action")!;
  assert.equal(event.id, sent.id);
  const body = JSON.parse(event.body);
  assert.deepEqual(body.data, {
    invoiceId: "inv_1",
    subscriptionId: "sub_1",
    actionSuggestion: "ACTION_SUGGESTION_RETRY",
    idealRetryTime: sent.ideal.toISOString(),
  });
  await stage.invoice({ amount: 5000 });
  await stage.decide();
  assert.equal((await stage.events()).filter(({ type }) => type === "recovery_action").length, 1);
});

test("a lost card triggers a card change at once; without a new card, the case waits for its window to end and sends nothing", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).map(({ type, status }) => ({ type, status })),
    [{ type: "CARD_CHANGE", status: "SENT" }],
  );
  stage.wait(7 * DAY);
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "EXPIRED");
  const windowEndsAt = new Date(START.getTime() + 28 * DAY);
  assert.deepEqual(
    await stage.cases(),
    [{ end: null, due: windowEndsAt }],
    "not looked at before, unless something is new",
  );
  stage.at(windowEndsAt);
  await stage.decide();
  assert.deepEqual(await stage.cases(), [{ end: "window_over", due: null }]);
  assert.deepEqual((await stage.events()).map(({ type }) => type).sort(), ["pause_collection", "recovery_action"]);
});

for (const [shown, how] of [
  [{ invoiceId: "inv_other", state: "PAID" }, "a charge of another bill"],
  [{ invoiceId: "inv_other", state: "PAID", amount: 0 }, "a check of nothing"],
  [{ state: "FAILED" }, "an attempt of the merchant's own"],
] as const)
  test(`a new card that comes after seven days, shown by ${how}, is retried soon, and its change is requested once`, async () => {
    const listed = async () => (await stage.actions()).map(({ type, status }) => `${type} ${status}`);
    const lost = { networkDeclineCode: "41" };
    const isNoTry = shown.state === "PAID";
    await stage.invoice();
    await stage.transaction(lost);
    await stage.decide();
    await stage.deliver();
    await stage.decide();
    stage.wait(12 * DAY);
    await stage.decide();
    assert.deepEqual(await listed(), ["CARD_CHANGE EXPIRED"]);
    await stage.transaction({ ...shown, cardFingerprint: "fp_2", networkDeclineCode: isNoTry ? undefined : "51" });
    await stage.decide();
    assert.deepEqual(await listed(), ["CARD_CHANGE EXPIRED", "RETRY SCHEDULED"]);
    const { ideal } = (await stage.actions())[1]!;
    if (isNoTry) assert.ok(ideal.getTime() - stage.now().getTime() <= 2 * HOUR);
    const sent = await stage.untilSent();
    stage.at(sent.ideal);
    await stage.transaction({ ...lost, cardFingerprint: "fp_2", recoveryActionId: sent.id });
    await stage.decide();
    await stage.deliver();
    await stage.decide();
    const [, , second] = await stage.actions();
    assert.equal(second!.type, "CARD_CHANGE");
    // The merchant's own attempts on either card request no third one.
    for (const card of ["fp_1", "fp_2"]) {
      stage.wait(HOUR);
      await stage.transaction({ ...lost, cardFingerprint: card });
      await stage.decide();
    }
    stage.at(second!.ideal.getTime() + 7 * DAY);
    await stage.decide();
    assert.deepEqual(await listed(), ["CARD_CHANGE EXPIRED", "RETRY FAILED", "CARD_CHANGE EXPIRED"]);
    assert.equal((await stage.cases())[0]!.end, null);
  });

test("a case ends with complete_dunning and withdraws the waiting retry when its subscription is canceled", async () => {
  await stage.subscription("ACTIVE");
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.decide();
  await stage.deliver();
  stage.at((await stage.actions())[0]!.ideal.getTime() - 49 * MINUTE);
  await stage.decide();
  stage.wait(MINUTE);
  await stage.subscription("CANCELED");
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "subscription_canceled");
  assert.deepEqual(
    (await stage.actions()).map(({ status }) => status),
    ["CANCELED"],
  );
  const byType = Object.fromEntries((await stage.events()).map((event) => [event.type, event]));
  assert.deepEqual([byType.recovery_action!.withdrawn, byType.recovery_action!.waiting], [true, false]);
  assert.equal(byType.complete_dunning!.waiting, true);
});

test("a case ends without an event when its window is over", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  stage.at(START.getTime() + 28 * DAY);
  await stage.decide();
  assert.deepEqual(await stage.cases(), [{ end: "window_over", due: null }]);
  assert.equal(
    (await stage.events()).some(({ type }) => type === "complete_dunning"),
    false,
  );
});

test("a case requests its whole budget, then completes dunning once", async () => {
  await stage.invoice();
  for (let i = 0; i < 8; i++) {
    await stage.decide();
    const sent = await stage.untilSent();
    stage.at(sent.ideal.getTime() + MINUTE);
    await stage.invoice();
  }
  await stage.decide();
  assert.equal((await stage.actions()).filter(({ status }) => status === "FAILED").length, 8);
  assert.equal((await stage.cases())[0]!.end, "budget_used");
  assert.equal((await stage.events()).filter(({ type }) => type === "complete_dunning").length, 1);
  stage.wait(MINUTE);
  await stage.invoice();
  await stage.decide();
  assert.equal((await stage.cases()).length, 1);
});

test("an invoice opens a new case when it is unpaid again after it was paid", async () => {
  await stage.invoice();
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  stage.wait(DAY);
  await stage.invoice();
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["paid", null],
  );
});

for (const first of ["payment", "invoice"])
  test(`an invoice opens a new case when its debit bounces days after it was paid, and the ${first} is pushed first`, async () => {
    const pushes = [
      () =>
        stage.transaction({ id: "txn_1", state: "PAID", createdAt: START, updatedAt: new Date(START.getTime() + 1) }),
      () => stage.invoice({ updatedAt: START }),
    ];
    for (const push of first === "payment" ? pushes : pushes.reverse()) await push();
    await stage.decide();
    stage.wait(3 * DAY);
    await stage.transaction({ id: "txn_1", createdAt: START });
    await stage.invoice();
    await stage.decide();
    assert.deepEqual(
      (await stage.cases()).map(({ end }) => end),
      ["paid", null],
    );
  });

test("no case opens when the amount is 0 or the window is over", async () => {
  await stage.invoice({ id: "inv_zero", amount: 0 });
  await stage.invoice({ id: "inv_old", updatedAt: new Date(START.getTime() - 28 * DAY) });
  await stage.decide();
  assert.deepEqual(await stage.cases(), []);
});

test("a case is planned without an event when the merchant has no endpoint", async () => {
  await stage.enter(false);
  await stage.invoice();
  await stage.decide();
  const [first] = await stage.actions();
  stage.at(first!.ideal.getTime() + HOUR);
  await stage.decide();
  assert.deepEqual(await stage.events(), []);
  assert.equal((await stage.actions())[0]!.status, "SCHEDULED");
  assert.ok((await stage.actions())[0]!.ideal > first!.ideal);
});

test("an older or known version changes nothing", async () => {
  assert.deepEqual(await stage.invoice(), [{ stored: 1, older: 0 }]);
  assert.deepEqual(await stage.invoice(), [{ stored: 0, older: 0 }]);
  const older = new Date(stage.now().getTime() - 1);
  assert.deepEqual(await stage.invoice({ state: "PAID", updatedAt: older }), [{ stored: 0, older: 1 }]);
});

test("a case counts as recovered, with the amount due at its end, when an instruction succeeded", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.invoice({ amount: 5_000 });
  assert.deepEqual(await stage.outcomes(), [{ outcome: "open", amount: 5_000, currency: "EUR" }]);
  await stage.untilSent();
  await stage.deliver();
  await stage.decide();
  stage.at((await stage.actions())[0]!.ideal.getTime() + MINUTE);
  await stage.invoice({ amount: 4_500, state: "PAID" });
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ amount: 100, state: "REFUNDED" });
  await stage.decide();
  assert.deepEqual(await stage.outcomes(), [{ outcome: "recovered", amount: 4_500, currency: "EUR" }]);
});

test("a case does not count as recovered when it is paid before any instruction was sent", async () => {
  await stage.invoice();
  await stage.decide();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID" });
  await stage.decide();
  assert.deepEqual(await stage.outcomes(), [{ outcome: "paid", amount: 4_900, currency: "EUR" }]);
});

test("a case counts as recovered when its retry succeeds after the window, or after it was reported as the last failure", async () => {
  const failedAt = new Date(START.getTime() - 26 * DAY);
  await stage.invoice({ createdAt: failedAt, updatedAt: failedAt });
  await stage.decide();
  const late = await stage.untilSent();
  stage.at(Math.max(START.getTime() + 2 * DAY, late.ideal.getTime()) + HOUR);
  await stage.decide();
  await stage.transaction({ recoveryActionId: late.id, state: "PAID", createdAt: late.ideal });
  await stage.decide();
  assert.deepEqual(await stage.outcomes(), [{ outcome: "recovered", amount: 4_900, currency: "EUR" }]);

  await stage.enter(true, { budget: 1 });
  await stage.invoice();
  await stage.decide();
  const last = await stage.untilSent();
  stage.at(last.ideal.getTime() + MINUTE);
  await stage.invoice();
  await stage.decide();
  assert.deepEqual([(await stage.cases())[0]!.end, (await stage.outcomes())[0]!.outcome], ["budget_used", "lost"]);
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.deepEqual([(await stage.cases())[0]!.end, (await stage.outcomes())[0]!.outcome], ["budget_used", "recovered"]);
});

test("a case counts as recovered when a retry paid a part and the rest is paid later", async () => {
  await stage.invoice();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + MINUTE);
  await stage.transaction({ recoveryActionId: sent.id, state: "PAID", amount: 1_000 });
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "SUCCEEDED");
  stage.at(START.getTime() + 28 * DAY);
  await stage.decide();
  assert.deepEqual([(await stage.cases())[0]!.end, (await stage.outcomes())[0]!.outcome], ["window_over", "lost"]);
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.equal((await stage.outcomes())[0]!.outcome, "recovered");
});
