import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { InvoiceState } from "../domain/invoice.ts";
import { prepared } from "../postgres/database.ts";
import { decisionsOfCase } from "../tables/decisions.ts";
import { DAY, HOUR, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});
const decisionsOf = async (n: number) => decisionsOfCase(stage.db, merchantId, (await stage.caseIds())[n]!);
const SELECT_QUEUED = prepared(
  "test_poked",
  "select k.id::text from case_pokes p, unnest(p.case_ids) as k (id) where merchant_id = $1 order by 1",
);
const listQueuedCases = async () =>
  (await stage.db.run<{ id: string }>(SELECT_QUEUED, [merchantId])).rows.map(({ id }) => id);
const pushDeclinedInvoice = async (invoiceId: string, customerId = "cus_1", more = {}) => {
  await stage.invoice({ id: invoiceId, customerId, createdAt: stage.now(), ...more });
  await stage.transaction({ invoiceId, customerId });
};

/** Creates a weekly invoice that was paid, and the next one, which failed and is not worth retrying. */
async function createSmallWeeklyInvoices() {
  const weekly = { subscriptionId: "sub_1", amount: 30 };
  stage.wait(-7 * DAY);
  await stage.invoice({ id: "inv_0", state: "PAID", createdAt: stage.now(), ...weekly });
  stage.at(START);
  await pushDeclinedInvoice("inv_1", "cus_1", weekly);
  await stage.decide();
}

test("an outcome of another invoice changes the plan at once, and is named", async () => {
  await stage.invoice({ id: "inv_0", state: "PAID", createdAt: stage.now() });
  await stage.transaction({ invoiceId: "inv_0", state: "PAID", networkDeclineCode: undefined });
  stage.wait(HOUR);
  await pushDeclinedInvoice("inv_1");
  await stage.decide();
  const [before] = await stage.actions();
  const [first] = await decisionsOf(0);
  assert.doesNotMatch(first!.account.known.join(" "), /Another bill/, "paid before the case began");
  stage.wait(30 * HOUR);
  await stage.transaction({ invoiceId: "inv_2", state: "PAID", networkDeclineCode: undefined });
  await stage.decide();
  const [plan] = await stage.actions();
  assert.deepEqual([plan!.id, plan!.status], [before!.id, "SCHEDULED"]);
  const [, anew] = await decisionsOf(0);
  assert.match(anew!.account.changed.join(" "), /Another invoice of this customer was paid on Tue 3 March, 18:00/);
  assert.match(anew!.account.reasons.join(" "), /Since the last attempt, another invoice of this customer was paid/);
  assert.ok(plan!.ideal > stage.now());
});

test("a customer who is charged every hour is still retried", async () => {
  // No network rule limits this payment method.
  const giro = { paymentMethodType: "giro", cardBrand: undefined, cardFingerprint: undefined };
  for (const state of ["PAID", "FAILED"] as const) {
    merchantId = (await stage.enter()).id;
    await stage.invoice({ createdAt: START });
    await stage.transaction(giro);
    const overrides = state === "PAID" ? { networkDeclineCode: undefined } : {};
    for (let hour = 1; hour < 20 * 24 && !(await stage.actions()).some(({ decided }) => decided); hour++) {
      stage.at(+START + hour * HOUR);
      await stage.transaction({ ...giro, ...overrides, invoiceId: `other_${hour}`, state });
      await stage.decide();
    }
    assert.ok((await stage.actions())[0]!.decided, state);
  }
});

test("an outcome of another invoice known from invoices alone changes the plan at once, and is named once per fact", async () => {
  await stage.invoice();
  await stage.decide();
  const [own] = await stage.caseIds();
  const others = async () => (await listQueuedCases()).filter((id) => id === own).length;
  const other = { id: "inv_2", subscriptionId: "sub_2" };
  const changes: string[] = [];
  const push = async (state: InvoiceState, expected: number, also = {}) => {
    stage.wait(HOUR);
    await stage.invoice({ ...other, ...also, state });
    assert.equal(await others(), expected, `${state} ${JSON.stringify(also)}`);
    await stage.decide();
    if (expected > 0) changes.push((await decisionsOf(0)).at(-1)!.account.changed.join(" "));
  };
  await push("DRAFT", 0);
  await push("UNPAID", 1);
  await push("UNPAID", 0, { amount: 5_100 });
  await push("PARTIALLY_PAID", 0);
  await push("PAID", 1);
  await push("PAID", 0, { businessEntity: "anew" });
  await push("PAID", 0, { updatedAt: START });
  await push("REFUNDED", 0);
  await push("PAID", 1, { id: "inv_3", createdAt: stage.now() });
  await push("PAID", 0, { id: "inv_4", customerId: "cus_2", createdAt: stage.now() });
  await push("DRAFT", 0, { id: "inv_5" });
  await push("PAID", 1, { id: "inv_5", createdAt: stage.now() });
  assert.equal(changes.length, 4);
  assert.match(changes[0]!, /^Another invoice of this customer was declined on/);
  for (const change of changes.slice(1)) assert.match(change, /^Another invoice of this customer was paid on/);
});

test("an invoice queues only its own case when an attempt has already reported it", async () => {
  await pushDeclinedInvoice("inv_1");
  await stage.decide();
  const [own] = await stage.caseIds();
  stage.wait(HOUR);
  await stage.transaction({ invoiceId: "inv_2" });
  const queuedCases = await listQueuedCases();
  assert.ok(queuedCases.includes(own!));
  await stage.invoice({ id: "inv_2", createdAt: stage.now() });
  assert.deepEqual(await listQueuedCases(), queuedCases);
  stage.wait(HOUR);
  await stage.decide();
  await stage.transaction({ invoiceId: "inv_2", state: "PAID", networkDeclineCode: undefined });
  await stage.decide();
  await stage.invoice({ id: "inv_2", state: "PAID" });
  assert.ok(!(await listQueuedCases()).includes(own!));
});

test("an invoice queues no other case when its customer has very many open ones", async () => {
  for (let n = 0; n < 17; n++) await stage.invoice({ id: `inv_${n}`, customerId: "guest" });
  await stage.decide();
  const all = await stage.caseIds();
  stage.wait(HOUR);
  await stage.invoice({ id: "inv_17", customerId: "guest", state: "PAID" });
  assert.deepEqual(await listQueuedCases(), []);
  await stage.invoice({ id: "inv_16", customerId: "guest", state: "PAID" });
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ id: "inv_18", customerId: "guest", state: "PAID" });
  assert.deepEqual(await listQueuedCases(), all.slice(0, 16).sort());
});

test("an invoice queues no other case when fixed rules decide, as they use no other invoices", async () => {
  merchantId = (await stage.enter(true, { engine: "static" })).id;
  await stage.invoice();
  await stage.decide();
  stage.wait(HOUR);
  await stage.invoice({ id: "inv_2", state: "PAID" });
  await stage.invoice({ id: "inv_3" });
  await stage.invoice({ id: "inv_3", state: "PAID", updatedAt: new Date(+stage.now() + 1) });
  assert.ok(!(await listQueuedCases()).includes((await stage.caseIds())[0]!));
});

test("a customer who is billed every hour is still retried when no attempt is pushed", async () => {
  await stage.invoice({ createdAt: START });
  for (let hour = 1; hour < 20 * 24 && !(await stage.actions()).some(({ decided }) => decided); hour++) {
    stage.at(+START + hour * HOUR);
    await stage.invoice({ id: `other_${hour}`, state: "PAID", createdAt: stage.now() });
    await stage.decide();
  }
  assert.ok((await stage.actions())[0]!.decided);
});

test("a case in shadow mode also waits for the customer's next invoice at most a day after its date", async () => {
  merchantId = (await stage.enter(true, { shadow: true })).id;
  await createSmallWeeklyInvoices();
  stage.wait(8 * DAY + 1000);
  await stage.decide();
  assert.deepEqual(
    (await decisionsOf(0)).map(({ kind }) => kind),
    ["wait", "stop"],
  );
});

test("an attempt queues each open case of its customer once, and no other customer's", async () => {
  await pushDeclinedInvoice("inv_1");
  await pushDeclinedInvoice("inv_2");
  await pushDeclinedInvoice("inv_3", "cus_2");
  await stage.decide();
  const [own, other] = await stage.caseIds();
  stage.wait(DAY);
  await stage.transaction({ invoiceId: "inv_1" });
  assert.deepEqual(await listQueuedCases(), [own, other].sort());
});

test("an attempt queues only its own case when the customer has very many open ones", async () => {
  for (let n = 0; n < 16; n++) await pushDeclinedInvoice(`inv_${n}`, "guest");
  await stage.decide();
  const all = await stage.caseIds();
  await stage.transaction({ invoiceId: "inv_0", customerId: "guest" });
  assert.deepEqual(await listQueuedCases(), all.toSorted(), "of sixteen all");
  await pushDeclinedInvoice("inv_16", "guest");
  await stage.decide();
  stage.wait(DAY);
  await stage.transaction({ invoiceId: "inv_0", customerId: "guest" });
  assert.deepEqual(await listQueuedCases(), [all[0]]);
});

test("an attempt still queues the cases that wait for a new card when the customer has very many open ones", async () => {
  for (let n = 0; n < 18; n++) await pushDeclinedInvoice(`inv_${n}`, "guest");
  await stage.transaction({
    invoiceId: "inv_7",
    customerId: "guest",
    networkDeclineCode: "41",
    cardFingerprint: "fp_7",
  });
  await stage.decide();
  const waiting = (await stage.actions()).filter(({ type }) => type === "CARD_CHANGE").length;
  assert.ok(waiting > 0);
  await stage.deliver();
  await stage.decide();
  for (const days of [1, 9]) {
    stage.at(+START + days * DAY);
    await stage.decide();
    await stage.transaction({ invoiceId: `inv_${days}`, customerId: "guest", cardFingerprint: `fp_after_${days}` });
    assert.equal(new Set(await listQueuedCases()).size, waiting, `${days} days after it was asked for`);
  }
});

test("a case not worth retrying waits for the customer's next invoice, is decided again when that is paid, and else ends a day later", async () => {
  const ends: (string | null)[] = [];
  for (const isPaid of [true, false]) {
    merchantId = (await stage.enter()).id;
    await createSmallWeeklyInvoices();
    assert.deepEqual(await stage.cases(), [{ end: null, due: new Date(+START + 8 * DAY) }]);
    assert.equal((await decisionsOf(0))[0]!.kind, "wait");
    stage.wait(7 * DAY);
    if (isPaid) {
      await stage.transaction({ invoiceId: "inv_2", amount: 30, state: "PAID", networkDeclineCode: undefined });
      await stage.decide();
      assert.equal((await decisionsOf(0)).length, 2, "it is asked again");
    } else {
      stage.wait(DAY + 1000);
      await stage.decide();
    }
    ends.push((await stage.cases())[0]!.end);
  }
  assert.equal(ends[1], "hopeless");
  assert.equal((await stage.events()).at(-1)!.type, "complete_dunning");
});

test("a case that waits for another one ends a day after it, even without a reported attempt", async () => {
  await pushDeclinedInvoice("inv_1");
  await stage.decide();
  await pushDeclinedInvoice("inv_2", "cus_1", { amount: 30 });
  await stage.decide();
  assert.deepEqual(
    (await decisionsOf(1)).map(({ kind }) => kind),
    ["wait"],
  );
  stage.wait(HOUR);
  await stage.invoice({ id: "inv_1", state: "VOIDED" });
  await stage.decide();
  stage.wait(DAY);
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["voided", "hopeless"],
  );
  assert.equal((await stage.events()).at(-1)!.type, "complete_dunning");
});

test("two cases not worth retrying do not wait for each other", async () => {
  await pushDeclinedInvoice("inv_1", "cus_1", { amount: 30 });
  await pushDeclinedInvoice("inv_2", "cus_1", { amount: 30 });
  await stage.decide();
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["hopeless", "hopeless"],
  );
});

test("a case names what it currently waits for, even when that changes", async () => {
  await createSmallWeeklyInvoices();
  stage.wait(2 * DAY);
  await pushDeclinedInvoice("inv_2");
  await stage.decide();
  const lastReason = async () => (await decisionsOf(0)).at(-1)!.account.reasons.at(-1)!;
  assert.match(await lastReason(), /next invoice of this customer is due about Mon 9 March/);
  stage.at(+START + 8 * DAY + 1000);
  await stage.decide();
  assert.match(await lastReason(), /Another invoice of this customer is in recovery/);
  const decisions = (await decisionsOf(0)).length;
  stage.wait(DAY);
  await stage.decide();
  assert.equal((await decisionsOf(0)).length, decisions, "the same is kept once");
});
