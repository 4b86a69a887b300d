import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY, HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

// Facts that come late, in part, or about something else, and their limited consequences.

const stage = await openStage();
after(() => stage.drop());
beforeEach(() => stage.enter());

const statuses = async () => (await stage.actions()).map(({ type, status }) => `${type} ${status}`);

test("a partial payment by the customer cancels no retry, and the same time is never requested twice", async () => {
  await stage.invoice({ state: "PARTIALLY_PAID" });
  await stage.transaction();
  await stage.transaction({ state: "PAID", amount: 1000, initiator: "CUSTOMER" });
  await stage.decide();
  await stage.untilSent();
  for (let i = 0; i < 5; i++) {
    stage.wait(1000);
    await stage.deliver();
    await stage.decide();
  }
  assert.deepEqual(await statuses(), ["RETRY SENT"]);
});

test("a partial payment by an earlier retry does not cancel the next one", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const first = await stage.untilSent();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID", amount: 1000, recoveryActionId: first.id });
  await stage.invoice({ state: "PARTIALLY_PAID" });
  await stage.decide();
  await stage.untilSent();
  assert.deepEqual(await statuses(), ["RETRY SUCCEEDED", "RETRY SENT"]);
});

test("an attempt without a fingerprint on the same payment method is no new card", async () => {
  await stage.invoice();
  await stage.transaction({ paymentMethodId: "pm_1", networkDeclineCode: "41" });
  await stage.decide();
  stage.wait(HOUR);
  await stage.transaction({ paymentMethodId: "pm_1", cardFingerprint: undefined, networkDeclineCode: undefined });
  await stage.decide();
  assert.deepEqual(await statuses(), ["CARD_CHANGE SCHEDULED"]);
});

test("a case ends when a debit that began before the invoice was reported unpaid is paid", async () => {
  const createdAt = stage.now();
  await stage.transaction({ id: "debit", state: "PENDING", paymentMethodType: "sepa_debit" });
  stage.wait(HOUR);
  await stage.invoice();
  await stage.decide();
  stage.wait(2 * DAY);
  await stage.transaction({ id: "debit", state: "PAID", createdAt, paymentMethodType: "sepa_debit" });
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["paid"],
  );
  assert.deepEqual(await statuses(), []);
});

test("nothing is requested while an attempt is pending: for two weeks with a debit, for two days with a card", async () => {
  for (const [paymentMethodType, networkDeclineCode, days] of [
    ["sepa_debit", "AM04", 14],
    ["card", "51", 2],
  ] as const) {
    await stage.enter();
    await stage.invoice();
    await stage.transaction({ paymentMethodType, networkDeclineCode });
    await stage.decide();
    assert.deepEqual(await statuses(), ["RETRY SCHEDULED"]);
    stage.wait(HOUR);
    const madeAt = stage.now().getTime();
    const customers = { id: "own", initiator: "CUSTOMER", paymentMethodType, networkDeclineCode: undefined } as const;
    await stage.transaction({ ...customers, state: "PENDING" });
    await stage.decide();
    assert.deepEqual(await statuses(), ["RETRY CANCELED"], paymentMethodType);
    assert.equal(+(await stage.cases())[0]!.due!, madeAt + days * DAY);
    stage.at(madeAt + days * DAY);
    await stage.decide();
    assert.deepEqual(await statuses(), ["RETRY CANCELED", "RETRY SCHEDULED"], "nobody tells how it ended");
  }
});

test("a payment withdraws the undelivered events of an ended case, and their replay is refused", async () => {
  await stage.subscription("ACTIVE");
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.decide();
  await stage.deliver();
  stage.wait(MINUTE);
  await stage.subscription("CANCELED");
  await stage.decide();
  const complete = (await stage.events()).find(({ type }) => type === "complete_dunning")!;
  assert.equal(complete.waiting, true);
  stage.wait(MINUTE);
  await stage.invoice({ subscriptionId: "sub_1", state: "PAID" });
  const after = (await stage.events()).find(({ id }) => id === complete.id)!;
  assert.deepEqual([after.waiting, after.withdrawn], [false, true]);
  assert.notEqual((await stage.replay(complete.id)).skip, null);
});

test("a payment from before a case neither affects it nor lets it open again", async () => {
  const before = stage.now();
  stage.wait(DAY);
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.transaction({ id: "old", state: "PAID", createdAt: before, updatedAt: before });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  stage.wait(28 * DAY);
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice();
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["window_over"],
  );
});

test("a card change succeeds when a payment names it, even after it expired", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  await stage.deliver();
  await stage.decide();
  stage.wait(7 * DAY);
  await stage.decide();
  const [change] = await stage.actions();
  assert.equal(change!.status, "EXPIRED");
  await stage.transaction({ state: "PAID", recoveryActionId: change!.id, cardFingerprint: "fp_2" });
  await stage.decide();
  assert.deepEqual(await statuses(), ["CARD_CHANGE SUCCEEDED"]);
});

test("an undelivered card change is canceled with its case", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "41" });
  await stage.decide();
  stage.wait(MINUTE);
  await stage.transaction({ cardFingerprint: "fp_2", networkDeclineCode: "R0" });
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["hopeless"],
  );
  assert.deepEqual(await statuses(), ["CARD_CHANGE CANCELED"]);
});

test("no other retry is decided while a replayed one is on its way", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  await stage.deliver();
  await stage.untilExhausted();
  const [first] = await stage.actions();
  stage.at(first!.ideal.getTime() + 47 * HOUR);
  assert.equal((await stage.replay(first!.id)).skip, null);
  await stage.decide();
  assert.equal((await stage.events()).filter(({ type, waiting }) => type === "recovery_action" && waiting).length, 1);
  stage.wait(2 * HOUR);
  await stage.decide();
  assert.equal((await stage.actions())[0]!.status, "CANCELED");
  assert.equal((await stage.events()).find(({ id }) => id === first!.id)!.withdrawn, true);
});

/** Decides and delivers for 28 days, whenever a case is due. */
async function decideAndDeliver() {
  for (const end = START.getTime() + 28 * DAY; stage.now().getTime() < end; ) {
    await stage.decide();
    await stage.deliver();
    const dueTimes = (await stage.cases()).flatMap(({ due }) => due?.getTime() ?? []);
    stage.at(Math.max(stage.now().getTime() + MINUTE, Math.min(end, ...dueTimes)));
  }
}

test("customers who share a card share its limit", async () => {
  for (const customer of ["a", "b", "c"]) {
    await stage.invoice({ id: `inv_${customer}`, customerId: `cus_${customer}` });
    await stage.transaction({ invoiceId: `inv_${customer}`, customerId: `cus_${customer}`, cardFingerprint: "shared" });
  }
  await decideAndDeliver();
  const requested = (await stage.actions()).filter(({ type, decided }) => type === "RETRY" && decided);
  assert.ok(requested.length >= 15, `${requested.length} asked`);
  assert.ok(requested.length + 3 <= 20, `${requested.length} asked beside 3 first attempts`);
});

test("the second of two retries on a card is decided after the bank has answered the first, as it may advise waiting", async () => {
  for (const customer of ["a", "b"]) {
    await stage.invoice({ id: `inv_${customer}`, customerId: `cus_${customer}` });
    await stage.transaction({ invoiceId: `inv_${customer}`, customerId: `cus_${customer}`, cardFingerprint: "shared" });
  }
  await decideAndDeliver();
  const ideals = (await stage.actions())
    .filter(({ type, decided }) => type === "RETRY" && decided)
    .map(({ ideal }) => +ideal)
    .sort((a, b) => a - b);
  const gaps = ideals.slice(1).map((at, n) => (at - ideals[n]!) / MINUTE);
  assert.ok(gaps.length > 5 && gaps.every((minutes) => minutes >= 49 + 15), gaps.join());
});

test("all cases of a customer with many unpaid invoices are stepped in one batch, each taking the others' requests into account", async () => {
  for (let i = 0; i < 30; i++) {
    await stage.invoice({ id: `inv_${i}`, customerId: "guest" });
    if (i < 10) await stage.transaction({ invoiceId: `inv_${i}`, customerId: "guest" });
  }
  await stage.decide();
  assert.equal((await stage.cases()).length, 30);
  assert.equal((await stage.actions()).length, 30);
  await decideAndDeliver();
  const ideals = (await stage.actions())
    .filter(({ type, decided }) => type === "RETRY" && decided)
    .map(({ ideal }) => +ideal);
  assert.ok(ideals.length > 0);
  for (const end of ideals) {
    const within = ideals.filter((at) => at <= end && at > end - 30 * DAY).length;
    assert.ok(within <= 10, `${within} retries asked for in 30 days beside 10 attempts`);
  }
});

test("a case ends, and its executed retry stays failed, when the retry's event was never answered", async () => {
  await stage.subscription("ACTIVE");
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.transaction();
  await stage.decide();
  const planned = (await stage.actions()).at(-1)!;
  stage.at(planned.ideal.getTime() - 49 * MINUTE);
  await stage.decide();
  stage.at(planned.ideal.getTime() + MINUTE);
  await stage.transaction({ recoveryActionId: planned.id, initiator: "RECOVERY_ACTION" });
  await stage.decide();
  stage.wait(MINUTE);
  await stage.subscription("CANCELED");
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["subscription_canceled"],
  );
  assert.equal((await stage.actions())[0]!.status, "FAILED");
  const [requested] = (await stage.events()).filter(({ type }) => type === "recovery_action");
  assert.deepEqual([requested!.waiting, requested!.withdrawn], [false, true]);
});
