import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { openBalanceStage } from "./balance.fixture.ts";
import { DAY, HOUR, MINUTE, START } from "./stage.fixture.ts";

let stage: Awaited<ReturnType<typeof openBalanceStage>>;
before(async () => {
  stage = await openBalanceStage();
});
after(() => stage.drop());
beforeEach(async () => {
  await stage.enter();
  await stage.invoice();
});
const endReasons = async () => (await stage.cases()).map(({ end }) => end);
const statuses = async () => (await stage.actions()).map(({ type, status }) => `${type} ${status}`);

test("a case ends at once, withdrawing undelivered events, when partial payments have paid everything", async () => {
  await stage.transaction({ state: "PAID", amount: 2000 });
  await stage.untilDecidedFrom();
  await stage.transaction({ state: "PAID", amount: 2900 });
  assert.deepEqual(await endReasons(), ["paid"]);
  assert.deepEqual(
    (await stage.events()).filter(({ type, waiting }) => type === "recovery_action" && waiting),
    [],
  );
});

test("a case ends when a debit that began before the invoice failed is pushed as paid first", async () => {
  const startedAt = new Date(START.getTime() - DAY);
  const paidAt = new Date(START.getTime() + HOUR);
  stage.at(paidAt);
  await stage.transaction({ invoiceId: "inv_2", state: "PAID", createdAt: startedAt, updatedAt: paidAt });
  await stage.invoice({ id: "inv_2", updatedAt: START });
  await stage.decide();
  assert.deepEqual(await endReasons(), [null, "paid"]);
  assert.deepEqual(await statuses(), ["RETRY SCHEDULED"], "nothing is planned for the paid one");
});

test("a case ends when two parts are paid at once", async () => {
  await Promise.all([1, 2].map((n) => stage.transaction({ id: `txn_${n}`, state: "PAID", amount: 2450 })));
  assert.deepEqual(await endReasons(), ["paid"]);
});

test("a case stays open and requests the remaining amount when a part is unpaid", async () => {
  await stage.transaction({ state: "PAID", amount: 2900 });
  stage.wait(MINUTE);
  await stage.invoice({ state: "PARTIALLY_PAID", amount: 2000 });
  await stage.decide();
  assert.deepEqual([await endReasons(), await stage.amountsDue()], [[null], [2000]]);
  assert.match((await stage.reasons())[0]!, /EUR 20\.00 of EUR 49\.00 is left to pay\.$/);
  stage.wait(HOUR);
  await stage.transaction({ id: "txn_other", invoiceId: "inv_9", customerId: "cus_1" });
  await stage.decide();
  assert.equal((await stage.reasons())[0]!.match(/is left to pay/g)!.length, 1);
});

test("a case ends as settled without an event when its invoice is fully credited", async () => {
  await stage.decide();
  stage.wait(MINUTE);
  await stage.invoice({ amount: 0 });
  await stage.decide();
  assert.deepEqual(await endReasons(), ["settled"]);
  assert.deepEqual(
    (await stage.events()).map(({ type }) => type),
    ["pause_collection"],
  );
  await stage.invoice({ id: "inv_2" });
  stage.wait(MINUTE);
  await stage.invoice({ id: "inv_2", amountDue: 0 });
  assert.deepEqual(await endReasons(), ["settled", "settled"]);
});

test("a case opens when the credit that ended the last one is withdrawn, whichever process found the zero balance", async () => {
  // Here the step finds the zero balance: a payment in full comes first, so a case is opened and ended.
  await stage.transaction({ id: "txn_1", invoiceId: "inv_2", state: "PAID" });
  stage.wait(MINUTE);
  await stage.invoice({ id: "inv_2", amountDue: 0, updatedAt: stage.now() });
  await stage.transaction({ id: "txn_1", invoiceId: "inv_2", state: "FAILED", updatedAt: stage.now() });
  await stage.decide();
  stage.wait(MINUTE);
  await stage.invoice({ id: "inv_2", updatedAt: stage.now() });
  assert.deepEqual(await endReasons(), [null, "settled", null]);
});

test("a case ends as paid when a retry pays the last part", async () => {
  await stage.transaction({ state: "PAID", amount: 2000 });
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  await stage.transaction({ state: "PAID", amount: 2900, recoveryActionId: sent.id });
  await stage.decide();
  assert.deepEqual([await endReasons(), await statuses()], [["paid"], ["RETRY SUCCEEDED"]]);
});

test("a case waits and shows a conflict when a payment is in another currency or too large", async () => {
  await stage.decide();
  await stage.transaction({ id: "txn_usd", state: "PAID", currency: "USD" });
  await stage.decide();
  assert.deepEqual([await endReasons(), await statuses()], [[null], ["RETRY CANCELED"]]);
  assert.equal((await stage.conflicts())[0]?.kind, "two_currencies");
  assert.match(
    await stage.planned(),
    /^Facts contradict each other.*in EUR, but a payment of USD 49\.00 was reported for it/,
  );
  await stage.transaction({ id: "txn_usd", state: "PAID", currency: "USD", amount: 5000 });
  await stage.decide();
  assert.equal((await stage.conflicts())[0]?.facts.paid, 5000);
  stage.wait(HOUR);
  await stage.transaction({ id: "txn_usd", state: "VOIDED", currency: "USD" });
  await stage.decide();
  assert.deepEqual([await stage.conflicts(), (await statuses()).at(-1)], [[], "RETRY SCHEDULED"]);
});

test("no retry is made when less than the merchant's smallest amount is left", async () => {
  await stage.set({ smallestAmount: 500 });
  await stage.transaction({ state: "PAID", amount: 4500 });
  stage.wait(DAY);
  await stage.decide();
  assert.deepEqual([await endReasons(), await statuses()], [[null], []]);
  assert.match(
    await stage.planned(),
    /^EUR 4\.00 is left to pay, which is less than the smallest amount that this merchant retries \(EUR 5\.00\)/,
  );
});

test("an attempt that names a plan executes it, whether paid or failed", async () => {
  await stage.decide();
  const [plan] = await stage.actions();
  await stage.transaction({ id: "txn_failed", recoveryActionId: plan!.id });
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).slice(0, 1).map((a) => [a.status, a.executed, a.transaction]),
    [["FAILED", true, "txn_failed"]],
  );
  const next = (await stage.actions()).at(-1)!;
  await stage.transaction({ id: "txn_paid", state: "PAID", recoveryActionId: next.id });
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).slice(1).map((a) => [a.status, a.executed, a.transaction]),
    [["SUCCEEDED", true, "txn_paid"]],
  );
});

test("after a dispute, Dunlin does not charge the card but asks for another, for all the customer's invoices", async () => {
  await stage.invoice({ id: "inv_2" });
  await stage.transaction({ id: "txn_2", invoiceId: "inv_2" });
  await stage.decide();
  assert.deepEqual(await statuses(), ["RETRY SCHEDULED", "RETRY SCHEDULED"]);
  await stage.transaction({ id: "txn_1", state: "PAID" });
  stage.wait(HOUR);
  await stage.transaction({ id: "txn_1", state: "DISPUTED", createdAt: START });
  await stage.invoice();
  await stage.decide();
  const open = (await statuses()).filter((status) => /SCHEDULED|SENT/.test(status));
  assert.deepEqual(open, ["CARD_CHANGE SCHEDULED", "CARD_CHANGE SCHEDULED"]);
  assert.match((await stage.reasons()).at(-1)!, /The customer disputed a payment/);
  stage.wait(HOUR);
  await stage.transaction({ id: "txn_3", invoiceId: "inv_3", state: "PAID" });
  await stage.decide();
  const after = (await statuses()).filter((status) => /SCHEDULED|SENT/.test(status));
  assert.ok(after.includes("RETRY SCHEDULED"), `${after}: a later charge of the card was paid`);
});
