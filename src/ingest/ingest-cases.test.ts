import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { reviewInvoices } from "../recovery/review-invoices.ts";
import { buildInvoice, DAY, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import { insertEvents } from "../tables/events.ts";
import { findInvoices } from "../tables/invoices.ts";
import { importTransactions, ingestSubscriptions, ingestTransactions } from "./ingest.ts";
import { importInvoices, ingestInvoices } from "./ingest-invoices.ts";

// Which cases pushed records open, end and queue, and which events they withdraw.
const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
let withdrawn: string[][];
const enterMerchant = async (settings = {}) => {
  merchant = await stage.enter(true, settings);
  withdrawn = [];
};
beforeEach(() => enterMerchant());
const onWithdrawn = (_id: string, eventIds: readonly string[]) => void withdrawn.push([...eventIds]);

const at = (minutes: number) => new Date(START.getTime() + minutes * MINUTE);
const pushInvoices = (...invoices: Invoice[]) =>
  ingestInvoices(stage.db, merchant, [invoices], stage.ports, onWithdrawn);
const attempt = (overrides: Partial<Transaction> = {}): Transaction => ({
  ...{ id: "txn_1", state: "FAILED", invoiceId: "inv_1", customerId: "cus_1", amount: 4900, currency: "EUR" },
  ...{ createdAt: START, updatedAt: START, networkDeclineCode: "51", ...overrides },
});
const pushAttempts = (...attempts: Transaction[]) =>
  ingestTransactions(stage.db, merchant, [attempts], stage.ports, onWithdrawn);
const subscription = (overrides: Partial<Subscription> = {}): Subscription => ({
  ...{ id: "sub_1", state: "ACTIVE", customerId: "cus_1", amount: 1, currency: "EUR" },
  ...{ createdAt: START, updatedAt: START, ...overrides },
});
const pushSubscriptions = (subscriptions: Subscription[], db: Database = stage.db) =>
  ingestSubscriptions(db, merchant, [subscriptions], stage.ports, onWithdrawn);

const SELECT_QUEUED = prepared(
  "test_queued_invoices",
  `select distinct c.invoice_id as id from case_pokes p, unnest(p.case_ids) as k (id), cases c
   where p.merchant_id = $1 and c.merchant_id = $1 and c.id = k.id order by 1`,
);
const listQueuedCases = async () =>
  (await stage.db.run<{ id: string }>(SELECT_QUEUED, [merchant.id])).rows.map(({ id }) => id);
const CASES = prepared(
  "test_cases_of_invoices",
  "select id, invoice_id as invoice, end_reason as end from cases where merchant_id = $1 order by opened_at, id",
);
const cases = async () =>
  (await stage.db.run<{ id: string; invoice: string; end: string | null }>(CASES, [merchant.id])).rows;
const listEnds = async () => (await cases()).map(({ invoice, end }) => `${invoice} ${end ?? "open"}`).sort();

/** Stores an undelivered instruction for each open case. Returns event ids by invoice. */
async function createInstructions(): Promise<Record<string, string>> {
  const events = (await cases()).map(({ id, invoice }) => ({
    ...{ id: stage.ports.newId(), caseId: id, invoiceId: invoice, type: "recovery_action" as const },
    ...{ body: "{}", createdAt: stage.now() },
  }));
  await insertEvents(stage.db, merchant.id, events);
  return Object.fromEntries(events.map(({ invoiceId, id }) => [invoiceId, id]));
}

test("the second version of an invoice in a batch is stored after the first, even if the first one is paid", async () => {
  assert.deepEqual(await pushInvoices(buildInvoice({ state: "PAID" }), buildInvoice({ updatedAt: at(1) })), [
    { stored: 2, older: 0 },
  ]);
  assert.equal((await findInvoices(stage.db, merchant.id, ["inv_1"])).get("inv_1")!.state, "UNPAID");
  assert.deepEqual(await listEnds(), ["inv_1 open"]);
});

test("each invoice of a batch gets a case when the batch holds two versions of one of them", async () => {
  await pushInvoices(buildInvoice(), buildInvoice({ id: "inv_2" }), buildInvoice({ updatedAt: at(1) }));
  assert.deepEqual(await listEnds(), ["inv_1 open", "inv_2 open"]);
  const { inv_1, inv_2 } = await createInstructions();
  stage.at(at(3));
  await pushInvoices(
    buildInvoice({ state: "VOIDED", updatedAt: at(2) }),
    buildInvoice({ id: "inv_2", state: "VOIDED", updatedAt: at(2) }),
    buildInvoice({ state: "PAID", updatedAt: at(3) }),
  );
  assert.deepEqual(
    withdrawn.map((ids) => ids.sort()),
    [[inv_1!, inv_2!].sort()],
  );
});

test("paid invoices are compared with stored versions when a concurrent batch stored them first", async () => {
  await pushInvoices(buildInvoice({ updatedAt: at(1) }));
  const duplicateKeyError = Object.assign(new Error(`duplicate key value violates unique constraint "invoices_pkey"`), {
    code: "23505",
  });
  const racing: Database = { ...stage.db, run: () => Promise.reject(duplicateKeyError) };
  const paid = [
    [buildInvoice({ state: "PAID", updatedAt: at(2) }), buildInvoice({ id: "inv_2", state: "PAID" })],
  ] satisfies Invoice[][];
  assert.deepEqual(await ingestInvoices(racing, merchant, paid, stage.ports, onWithdrawn), [{ stored: 2, older: 0 }]);
  assert.deepEqual(await listEnds(), ["inv_1 paid"]);
});

test("new and newer records are counted separately from older ones", async () => {
  const both = async (minutes: number) => [
    await pushInvoices(buildInvoice({ state: "PAID", updatedAt: at(minutes) }), buildInvoice({ id: `inv_${minutes}` })),
    await pushSubscriptions([subscription({ updatedAt: at(minutes) }), subscription({ id: `sub_${minutes}` })]),
    await pushAttempts(attempt({ updatedAt: at(minutes) }), attempt({ id: `txn_${minutes}` })),
  ];
  assert.deepEqual(await both(10), Array(3).fill([{ stored: 2, older: 0 }]));
  assert.deepEqual(await both(9), Array(3).fill([{ stored: 1, older: 1 }]));
  assert.deepEqual(await both(11), Array(3).fill([{ stored: 2, older: 0 }]));
  await pushInvoices(buildInvoice({ id: "inv_0", state: "PAID" }));
  assert.deepEqual(withdrawn, []);
});

test("another invoice of the customer queues an open case, unless the engine is static", async () => {
  for (const [engine, expected] of [
    ["learned", ["inv_1"]],
    ["static", []],
  ] as const) {
    await enterMerchant({ engine });
    await pushInvoices(buildInvoice());
    await stage.decide();
    assert.deepEqual(await listQueuedCases(), []);
    await pushInvoices(buildInvoice({ id: "inv_2", state: "PAID" }));
    assert.deepEqual(await listQueuedCases(), expected, engine);
  }
});

test("a newer version of an unpaid invoice queues its case, and an older one does not", async () => {
  await pushInvoices(buildInvoice({ updatedAt: at(1) }), buildInvoice({ id: "inv_2", customerId: "cus_2" }));
  await stage.decide();
  await pushInvoices(buildInvoice({ amount: 5000 }));
  assert.deepEqual(await listQueuedCases(), []);
  await pushInvoices(buildInvoice({ amount: 5000, updatedAt: at(2) }));
  assert.deepEqual(await listQueuedCases(), ["inv_1"]);
});

test("imported history opens no case for unpaid invoices or disputed payments", async () => {
  await importInvoices(stage.db, merchant, [[buildInvoice()]], stage.ports, onWithdrawn);
  const disputed = [[attempt({ state: "DISPUTED" })]] satisfies Transaction[][];
  await importTransactions(stage.db, merchant, disputed, stage.ports, onWithdrawn);
  assert.deepEqual(await listEnds(), []);
  await pushAttempts(attempt({ state: "DISPUTED", updatedAt: at(1) }));
  assert.deepEqual(await listEnds(), ["inv_1 open"]);
});

test("a subscription that ends withdraws the instructions of its own cases in the same transaction", async () => {
  await pushInvoices(buildInvoice({ subscriptionId: "sub_1" }), buildInvoice({ id: "inv_2", subscriptionId: "sub_2" }));
  const { inv_2 } = await createInstructions();
  let transactions = 0;
  const failsAfterFirst: Database = {
    ...stage.db,
    async transaction(operation) {
      if (transactions++ > 0) throw new Error("the connection is lost");
      return await stage.db.transaction(operation);
    },
  };
  const records = [subscription({ state: "CANCELED" }), subscription({ id: "sub_2" })];
  await assert.rejects(pushSubscriptions(records, failsAfterFirst), /the connection is lost/);
  const undelivered = (await stage.events()).filter((event) => event.waiting);
  assert.deepEqual(
    undelivered.map(({ id }) => id),
    [inv_2],
  );
  assert.deepEqual(await listQueuedCases(), ["inv_1", "inv_2"]);
});

test("a subscription withdraws nothing when its newest version is active", async () => {
  await pushInvoices(buildInvoice({ subscriptionId: "sub_1" }));
  await createInstructions();
  await pushSubscriptions([subscription({ updatedAt: at(2) }), subscription({ id: "sub_2" })]);
  await pushSubscriptions([subscription({ state: "CANCELED", updatedAt: at(1) }), subscription({ id: "sub_3" })]);
  assert.deepEqual(withdrawn, []);
  await pushSubscriptions([subscription({ state: "EXPIRED", updatedAt: at(3) })]);
  assert.equal(withdrawn.length, 1);
});

test("a subscription without cases withdraws nothing when it ends", async () => {
  await pushSubscriptions([subscription({ state: "CANCELED" })]);
  assert.deepEqual(withdrawn, []);
});

test("a case that ended with its subscription opens again when the subscription is active again, and not when it is canceled again", async () => {
  await pushSubscriptions([subscription({ state: "CANCELED" })]);
  await pushInvoices(buildInvoice({ subscriptionId: "sub_1" }));
  await stage.decide();
  stage.wait(MINUTE);
  const push = (state: Subscription["state"]) => pushSubscriptions([subscription({ state, updatedAt: stage.now() })]);
  const newer = [[buildInvoice({ subscriptionId: "sub_1", updatedAt: stage.now() })]] satisfies Invoice[][];
  await importInvoices(stage.db, merchant, newer, stage.ports, onWithdrawn);
  await push("CANCELED");
  assert.deepEqual(await listEnds(), ["inv_1 subscription_canceled"]);
  stage.wait(MINUTE);
  await push("ACTIVE");
  assert.deepEqual(await listEnds(), ["inv_1 open", "inv_1 subscription_canceled"]);
});

test("a decline queues the cases of its invoice and its customer, and ends none", async () => {
  await pushInvoices(buildInvoice(), buildInvoice({ id: "inv_2" }), buildInvoice({ id: "inv_3", customerId: "cus_3" }));
  await stage.decide();
  await createInstructions();
  await pushAttempts(attempt({ updatedAt: at(1) }));
  assert.deepEqual(await listQueuedCases(), ["inv_1", "inv_2"]);
  await stage.decide();
  await pushAttempts(attempt());
  assert.deepEqual(await listQueuedCases(), []);
  assert.deepEqual(withdrawn, []);
  assert.deepEqual(await listEnds(), ["inv_1 open", "inv_2 open", "inv_3 open"]);
});

test("an attempt without a customer queues the cases of the invoice's customer only if it is disputed", async () => {
  await pushInvoices(buildInvoice(), buildInvoice({ id: "inv_2" }));
  await stage.decide();
  await pushAttempts(attempt({ customerId: undefined }));
  assert.deepEqual(await listQueuedCases(), ["inv_1"]);
  await stage.decide();
  await pushAttempts(attempt({ id: "txn_2", state: "DISPUTED", customerId: undefined }));
  assert.deepEqual(await listQueuedCases(), ["inv_1", "inv_2"]);
});

test("a payment ends the case of its invoice, withdraws its instruction once, and leaves other cases open", async () => {
  await pushInvoices(buildInvoice(), buildInvoice({ id: "inv_2" }));
  const { inv_1 } = await createInstructions();
  stage.at(at(1));
  await pushAttempts(attempt({ state: "PAID" }), attempt({ id: "txn_2", invoiceId: "inv_2" }));
  assert.deepEqual(withdrawn, [[inv_1]]);
  assert.deepEqual(await listEnds(), ["inv_1 paid", "inv_2 open"]);
});

test("a partial payment leaves the case open, and the payment that completes the amount ends it", async () => {
  await pushInvoices(buildInvoice());
  stage.at(at(1));
  await pushAttempts(attempt({ state: "PAID", amount: 4000 }));
  assert.deepEqual(await listEnds(), ["inv_1 open"]);
  await pushAttempts(
    attempt({ id: "txn_2", state: "PAID", amount: 900 }),
    attempt({ id: "txn_3", invoiceId: "inv_9" }),
  );
  assert.deepEqual(await listEnds(), ["inv_1 paid"]);
});

test("a payment that no longer counts opens a case, and an older decline of the invoice opens none", async () => {
  await pushInvoices(buildInvoice());
  stage.at(at(1));
  const paid = attempt({ state: "PAID", createdAt: at(1), updatedAt: at(1) });
  await pushAttempts(paid);
  stage.wait(DAY);
  await pushAttempts(attempt({ id: "txn_0" }));
  assert.deepEqual(await listEnds(), ["inv_1 paid"]);
  await pushAttempts({ ...paid, state: "FAILED", updatedAt: stage.now() });
  assert.deepEqual(await listEnds(), ["inv_1 open", "inv_1 paid"]);
});

test("an attempt without an open case looks for one again after the commit, even if another attempt of the batch found one", async () => {
  await pushInvoices(buildInvoice());
  const pushMeanwhile = async (...attempts: Transaction[]) => {
    let isFirst = true;
    const racing: Database = {
      ...stage.db,
      async transaction(operation) {
        const result = await stage.db.transaction(operation);
        if (!isFirst) return result;
        isFirst = false;
        await pushInvoices(buildInvoice({ id: "inv_2", customerId: "cus_2" }));
        await stage.decide();
        return result;
      },
    };
    await ingestTransactions(racing, merchant, [attempts], stage.ports, onWithdrawn);
    return await listQueuedCases();
  };
  assert.deepEqual(await pushMeanwhile(attempt()), []);
  await enterMerchant();
  await pushInvoices(buildInvoice());
  const otherAttempt = attempt({ id: "txn_2", invoiceId: "inv_2", customerId: "cus_2" });
  assert.deepEqual(await pushMeanwhile(attempt(), otherAttempt), ["inv_1", "inv_2"]);
});

test("invoices in recovery are reviewed in the order of their ids, whether they are new or stored before", async () => {
  await pushInvoices(...["inv_3", "inv_2"].map((id) => buildInvoice({ id })));
  await pushInvoices(buildInvoice({ id: "inv_0", state: "PAID" }));
  const newInvoices = [buildInvoice({ id: "inv_4" }), buildInvoice()];
  const storedIds = ["inv_3", "inv_2", "inv_0"];
  const reviewed = await stage.db.transaction((tx) => reviewInvoices(tx, merchant.id, newInvoices, storedIds));
  assert.deepEqual(
    reviewed.map(({ invoice: { id }, cases: { length } }) => `${id} ${length}`),
    ["inv_1 0", "inv_2 1", "inv_3 1", "inv_4 0"],
  );
});
