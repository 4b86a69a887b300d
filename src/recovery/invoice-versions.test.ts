import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Invoice, InvoiceState } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { prepared } from "../postgres/database.ts";
import { findInvoices } from "../tables/invoices.ts";
import { openBalanceStage } from "./balance.fixture.ts";
import { buildInvoice, DAY, HOUR, MINUTE, START } from "./stage.fixture.ts";

// Which version of a record wins (contract, "Versions"), and that no customer is charged for a paid invoice.
let stage: Awaited<ReturnType<typeof openBalanceStage>>;
let merchant: Merchant;
before(async () => {
  stage = await openBalanceStage();
});
after(() => stage.drop());
beforeEach(async () => {
  merchant = await stage.enter();
});

/** A version without a date. */
const buildUndatedInvoice = (overrides: Partial<Invoice> = {}) =>
  ({ ...buildInvoice(overrides), updatedAt: undefined }) as unknown as Invoice;
const push = (...invoices: Invoice[]) => ingestInvoices(stage.db, merchant, [[...invoices]], stage.ports, () => {});
const stateOf = async (id = "inv_1") => (await findInvoices(stage.db, merchant.id, [id])).get(id)?.state;
const listEnds = async () => (await stage.cases()).map(({ end }) => end);
const retries = async () =>
  (await stage.actions()).filter(({ type, status }) => type === "RETRY" && status === "SCHEDULED");

for (const [name, make] of [
  ["of the same date", buildInvoice],
  ["without dates", buildUndatedInvoice],
] as const) {
  test(`PAID wins over an UNPAID version ${name} that came first, in one batch or in two`, async () => {
    await push(make());
    await stage.decide();
    await push(make({ state: "PAID" }));
    await stage.decide();
    assert.deepEqual([await stateOf(), await listEnds(), await retries()], ["PAID", ["paid"], []]);
    await push(make({ id: "inv_2" }), make({ id: "inv_2", state: "PAID" }));
    assert.equal(await stateOf("inv_2"), "PAID");
  });
}

test("PAID wins over an UNPAID version of the same date that comes later, in one batch, in two, or at once", async () => {
  await push(buildInvoice({ state: "PAID" }));
  assert.deepEqual(await push(buildInvoice()), [{ stored: 0, older: 1 }]);
  assert.equal(await stateOf(), "PAID");
  assert.deepEqual(await push(buildInvoice({ id: "inv_2", state: "PAID" }), buildInvoice({ id: "inv_2" })), [
    { stored: 1, older: 1 },
  ]);
  assert.equal(await stateOf("inv_2"), "PAID");
  for (let n = 3; n < 40; n++) {
    const versions = [buildInvoice({ id: `inv_${n}` }), buildInvoice({ id: `inv_${n}`, state: "PAID" })];
    await Promise.all((n % 2 ? versions : versions.toReversed()).map((each) => push(each)));
    assert.equal(await stateOf(`inv_${n}`), "PAID");
  }
  await stage.decide();
  assert.deepEqual(await retries(), []);
});

test("the more advanced state wins between two versions of the same date, in any order of arrival", async () => {
  const order: InvoiceState[] = ["DRAFT", "UNPAID", "PARTIALLY_PAID", "PAID", "UNCOLLECTIBLE", "VOIDED", "REFUNDED"];
  for (const [index, state] of order.entries())
    for (const other of order.slice(index + 1)) {
      for (const [n, states] of [
        [state, other],
        [other, state],
      ].entries()) {
        const id = `inv_${state}_${other}_${n}`;
        for (const each of states) await push(buildInvoice({ id, state: each }));
        assert.equal(await stateOf(id), other);
      }
    }
});

test("the later arrival wins between two versions of the same date and state, and an identical one changes nothing", async () => {
  await push(buildInvoice());
  assert.deepEqual(await push(buildInvoice({ amount: 5000 })), [{ stored: 1, older: 0 }]);
  assert.deepEqual(await push(buildInvoice({ amount: 5000 })), [{ stored: 0, older: 0 }]);
  assert.deepEqual(await push(buildUndatedInvoice({ amount: 5000 })), [{ stored: 0, older: 0 }]);
});

test("the later arrival wins when there are no dates, also for attempts and subscriptions", async () => {
  await push(buildUndatedInvoice());
  const attempt = { id: "txn_1", createdAt: START, updatedAt: undefined as unknown as Date };
  await stage.transaction({ ...attempt, state: "PENDING" });
  stage.wait(5 * DAY);
  await stage.transaction({ ...attempt, state: "PAID" });
  assert.deepEqual(await listEnds(), ["paid"]);
  await stage.transaction({ ...attempt, state: "FAILED" });
  assert.deepEqual(await listEnds(), ["paid", null], "a late return");
  await push(buildUndatedInvoice({ id: "inv_2", subscriptionId: "sub_1" }));
  await stage.subscription("ACTIVE", { updatedAt: undefined as unknown as Date });
  await stage.subscription("CANCELED", { updatedAt: undefined as unknown as Date });
  await stage.decide();
  assert.deepEqual(await listEnds(), ["paid", null, "subscription_canceled"]);
});

test("a dated version is compared with the newest date, even when an undated one came in between", async () => {
  const at = (minutes: number) => new Date(START.getTime() + minutes * MINUTE);
  await push(buildInvoice({ updatedAt: at(5) }));
  stage.wait(10 * MINUTE);
  await push(buildUndatedInvoice({ state: "PAID" }));
  assert.deepEqual(await push(buildInvoice({ updatedAt: at(3) })), [{ stored: 0, older: 1 }]);
  assert.equal(await stateOf(), "PAID");
  await push(buildInvoice({ updatedAt: at(6) }));
  assert.equal(await stateOf(), "UNPAID");
});

test("versions less than a millisecond apart are distinguished", async () => {
  const first = Object.assign(new Date(START), { microseconds: 400 });
  const second = Object.assign(new Date(START), { microseconds: 900 });
  await push(buildInvoice({ state: "PAID", updatedAt: first }));
  assert.deepEqual(await push(buildInvoice({ updatedAt: second })), [{ stored: 1, older: 0 }]);
  assert.deepEqual(await push(buildInvoice({ state: "PAID", updatedAt: first })), [{ stored: 0, older: 1 }]);
});

test("a newer UNPAID version opens no case, and shows a conflict, while a payment in full stands", async () => {
  await push(buildInvoice());
  await stage.untilSentFrom();
  await stage.transaction({ id: "txn_paid", state: "PAID" });
  await stage.decide();
  assert.deepEqual(await listEnds(), ["paid"]);
  stage.wait(5000);
  await push(buildInvoice({ updatedAt: stage.now() }));
  await stage.decide();
  assert.deepEqual([await listEnds(), await retries()], [["paid"], []]);
  assert.equal((await stage.conflicts())[0]?.kind, "paid_but_unpaid");
  stage.wait(HOUR);
  await stage.transaction({ id: "txn_paid", state: "REFUNDED" });
  await push(buildInvoice({ updatedAt: stage.now() }));
  assert.deepEqual([await listEnds(), await stage.conflicts()], [["paid", null], []]);
});

test("a refunded or voided payment has the same result, whichever record comes first", async () => {
  const paid = { id: "txn_paid", state: "PAID", createdAt: START } as const;
  const later = new Date(START.getTime() + HOUR);
  for (const [state, isOpen] of [
    ["REFUNDED", false],
    ["VOIDED", true],
    ["FAILED", true],
  ] as const) {
    const records = [
      () => push(buildInvoice()),
      () => stage.transaction({ ...paid, updatedAt: new Date(START.getTime() + MINUTE) }),
      () => stage.transaction({ ...paid, state, updatedAt: later }),
    ];
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [1, 0, 2],
      [1, 2, 0],
      [2, 0, 1],
      [2, 1, 0],
    ]) {
      merchant = await stage.enter();
      stage.at(later);
      for (const n of order) {
        await records[n]!();
        await stage.decide();
      }
      assert.equal(
        (await stage.cases()).some(({ end }) => end === null),
        isOpen,
        `${state}: ${order}`,
      );
    }
  }
});

test("the total of a partly paid invoice can also come from an older version", async () => {
  const part = buildInvoice({
    state: "PARTIALLY_PAID",
    amount: 3000,
    updatedAt: new Date(START.getTime() + 2 * MINUTE),
  });
  const orders = [
    [[buildInvoice()], [part]],
    [[part], [buildInvoice()]],
    [[part, buildInvoice()]],
    [[buildInvoice(), part]],
    [[part], [buildInvoice({ state: "DRAFT" }), buildInvoice({ amount: 3000 })], [buildInvoice()]],
  ];
  for (const [n, batches] of orders.entries()) {
    merchant = await stage.enter();
    stage.at(START.getTime() + HOUR);
    await stage.transaction({
      id: "txn_part",
      state: "PAID",
      amount: 1900,
      updatedAt: new Date(START.getTime() + MINUTE),
    });
    for (const batch of batches) await push(...batch);
    await stage.decide();
    const stored = (await findInvoices(stage.db, merchant.id, ["inv_1"])).get("inv_1")!;
    assert.deepEqual([stored.amount, stored.amountDue, stored.state], [4900, 3000, "PARTIALLY_PAID"], `order ${n}`);
    assert.deepEqual(await stage.amountsDue(), [3000], `order ${n}`);
  }
});

test("a case opens again when the payment that ended it is withdrawn during the step, however many cases the invoice had", async () => {
  const last = "id = (select id from cases where merchant_id = $1 order by id desc limit 1)";
  // A payment pushed while the case was open, which no step has seen.
  const reopen = prepared(
    "test_open_again",
    `update cases set ended_at = null, end_reason = null, invoice_left = false, paid_at = null where merchant_id = $1 and ${last}`,
  );
  const end = prepared(
    "test_end_as_paid",
    `update cases set ended_at = opened_at, end_reason = 'paid', invoice_left = true where merchant_id = $1 and ${last}`,
  );
  await push(buildInvoice());
  await stage.transaction({ id: "txn_part", state: "PAID", amount: 3000 });
  for (const expected of [
    ["paid", null],
    ["paid", "paid", null],
  ]) {
    await stage.decide();
    const rest = { id: `txn_rest_${expected.length}`, createdAt: stage.now(), amount: 1900 };
    await stage.transaction({ ...rest, state: "PAID" });
    stage.wait(MINUTE);
    await stage.db.run(reopen, [merchant.id]);
    await stage.transaction({ ...rest, state: "FAILED", updatedAt: stage.now() });
    await stage.db.run(end, [merchant.id]);
    await stage.decide();
    assert.deepEqual(await listEnds(), expected);
  }
});

test("a newer PARTIALLY_PAID version leaves an amount due and opens a case", async () => {
  await push(buildInvoice());
  await stage.transaction({ state: "PAID" });
  stage.wait(MINUTE);
  await push(buildInvoice({ state: "PARTIALLY_PAID", amount: 2000, updatedAt: stage.now() }));
  await stage.decide();
  assert.deepEqual(await listEnds(), ["paid", null]);
});

test("no case opens for an old invoice that is merely updated when its window was over at first sight", async () => {
  const old = new Date(START.getTime() - 730 * DAY);
  await push(buildInvoice({ createdAt: old, updatedAt: old }));
  await stage.transaction({ id: "txn_old", createdAt: old, updatedAt: old });
  stage.wait(HOUR);
  await push(buildInvoice({ createdAt: old, updatedAt: stage.now() }));
  await stage.transaction({ id: "txn_old", createdAt: old });
  await stage.decide();
  assert.deepEqual(await listEnds(), []);
  await stage.transaction({ id: "txn_new" });
  assert.deepEqual(await listEnds(), [null], "an attempt of today shows new life");
});

test("a case opens for an old invoice when it was paid and failed again", async () => {
  const old = new Date(START.getTime() - 730 * DAY);
  await push(buildInvoice({ createdAt: old, updatedAt: old }));
  await push(buildInvoice({ createdAt: old, state: "PAID", updatedAt: new Date(START.getTime() - DAY) }));
  await push(buildInvoice({ createdAt: old, updatedAt: START }));
  assert.deepEqual(await listEnds(), [null]);
});

for (const first of ["subscription", "invoice"] as const)
  test(`a case that ended with its subscription opens again when that is active again and the ${first} comes first`, async () => {
    await push(buildInvoice({ subscriptionId: "sub_1" }));
    await stage.subscription("CANCELED");
    await stage.decide();
    assert.deepEqual(await listEnds(), ["subscription_canceled"]);
    stage.wait(HOUR);
    const unpaid = () => push(buildInvoice({ subscriptionId: "sub_1", updatedAt: stage.now() }));
    const pushes = [() => stage.subscription("ACTIVE"), unpaid];
    for (const each of first === "subscription" ? pushes : pushes.reverse()) await each();
    await stage.decide();
    assert.deepEqual(await listEnds(), ["subscription_canceled", null]);
  });
