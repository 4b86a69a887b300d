import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { waitForLockWait } from "../../test/database.ts";
import type { Event } from "../domain/event.ts";
import type { BatchResult } from "../domain/ingest.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { finishTransaction } from "../postgres/in-transaction.ts";
import { MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import { findCases, lockCases } from "../tables/cases.ts";
import { insertEvents } from "../tables/events.ts";
import { insertNewInvoices } from "../tables/invoices.ts";
import { ingestSubscriptions, ingestTransactions } from "./ingest.ts";
import { ingestInvoices } from "./ingest-invoices.ts";
import { pauseFastPath } from "./insert-fast-path.ts";

const stage = await openStage();
after(() => stage.drop());
beforeEach(() => stage.enter());

test("a new batch is stored and opens its cases once when a concurrent batch stores one of its invoices first", async () => {
  const merchant = await stage.enter();
  const invoice = (id: string) =>
    ({
      id,
      state: "UNPAID",
      customerId: "cus_1",
      amount: 1,
      currency: "EUR",
      createdAt: START,
      updatedAt: START,
    }) as const;
  let overtakenBatch!: Promise<BatchResult[]>;
  await stage.db.transaction(async (tx) => {
    await insertNewInvoices(tx, merchant.id, [invoice("inv_b")], stage.ports.newId());
    overtakenBatch = ingestInvoices(
      stage.db,
      merchant,
      [["inv_a", "inv_b", "inv_c"].map(invoice)],
      stage.ports,
      () => {},
    );
    await waitForLockWait(stage.db);
  });
  assert.deepEqual(await overtakenBatch, [{ stored: 2, older: 0 }]);
  assert.equal((await stage.cases()).length, 2);
  assert.deepEqual(await ingestInvoices(stage.db, merchant, [["inv_a", "inv_d"].map(invoice)], stage.ports, () => {}), [
    { stored: 1, older: 0 },
  ]);
  assert.equal((await stage.cases()).length, 3);
});

test("a case opens with the current settings, even if the request read earlier ones", async () => {
  const before = await stage.enter();
  await stage.set({ shadow: true, windowDays: 3, budget: 2 });
  const unpaid = { id: "inv_1", state: "UNPAID", customerId: "cus_1", amount: 1, currency: "EUR" } as const;
  const invoice = [[{ ...unpaid, createdAt: START, updatedAt: stage.now() }]] satisfies Invoice[][];
  await ingestInvoices(stage.db, before, invoice, stage.ports, () => {});
  assert.deepEqual(await stage.arms(), ["shadow"]);
  const [recoveryCase] = await findCases(stage.db, before.id, await stage.caseIds());
  assert.deepEqual(
    [+recoveryCase!.windowEndsAt - +recoveryCase!.unpaidAt, recoveryCase!.budget],
    [3 * 24 * 60 * MINUTE, 2],
  );
});

test("a paid version ends the case when it waited for the batch that opens the case", async () => {
  const merchant = await stage.enter();
  pauseFastPath(merchant.id); // so that the paid version waits as an upsert
  const version = (state: "UNPAID" | "PAID", seconds: number) =>
    [
      [
        {
          id: "inv_1",
          state,
          customerId: "cus_1",
          amount: 4_900,
          currency: "EUR",
          createdAt: START,
          updatedAt: new Date(START.getTime() + seconds * 1_000),
        },
      ],
    ] satisfies Invoice[][];
  stage.wait(MINUTE);
  let paid!: Promise<BatchResult[]>;
  await stage.db.transaction(async (tx) => {
    const withinTx: Database = {
      ...stage.db,
      run: tx.run,
      transaction: async (operation) => await finishTransaction(await operation(tx)),
    };
    await ingestInvoices(withinTx, merchant, version("UNPAID", 1), stage.ports, () => {});
    paid = ingestInvoices(stage.db, merchant, version("PAID", 2), stage.ports, () => {});
    await waitForLockWait(stage.db);
  });
  await paid;
  assert.deepEqual(
    (await stage.cases()).map(({ end }) => end),
    ["paid"],
  );
});

test("an event that a step creates while a paid version waits for the step is withdrawn", async () => {
  const merchant = await stage.enter();
  await stage.invoice();
  const event = await buildEvent(merchant.id);
  const paid = [
    [
      {
        ...{ id: "inv_1", state: "PAID" as const, customerId: "cus_1", amount: 4_900, currency: "EUR" },
        ...{ createdAt: START, updatedAt: new Date(stage.now().getTime() + MINUTE) },
      },
    ],
  ] satisfies Invoice[][];
  const withdrawn: string[] = [];
  let ingested!: Promise<BatchResult[]>;
  await stage.db.transaction(async (tx) => {
    await lockCases(tx, merchant.id, [event.caseId]);
    ingested = ingestInvoices(stage.db, merchant, paid, stage.ports, (_, ids) => withdrawn.push(...ids));
    await waitForLockWait(stage.db);
    await insertEvents(tx, merchant.id, [event]);
  });
  await ingested;
  assert.deepEqual(withdrawn, [event.id]);
});

test("an event that a step creates while a canceled subscription waits for the step is withdrawn before the answer", async () => {
  const merchant = await stage.enter();
  await stage.invoice({ subscriptionId: "sub_1" });
  const event = await buildEvent(merchant.id);
  const withdrawn: string[] = [];
  let ingested!: Promise<BatchResult[]>;
  await stage.db.transaction(async (tx) => {
    await lockCases(tx, merchant.id, [event.caseId]);
    ingested = ingestSubscriptions(stage.db, merchant, canceled(), stage.ports, (_, ids) => withdrawn.push(...ids));
    await waitForLockWait(stage.db);
    await insertEvents(tx, merchant.id, [event]);
  });
  await ingested;
  assert.deepEqual(withdrawn, [event.id]);
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "subscription_canceled");
});

test("an event that is sent once per case is not withdrawn when the subscription is active again before the next step", async () => {
  const merchant = await stage.enter();
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.decide();
  stage.wait(MINUTE);
  await stage.subscription("CANCELED");
  stage.wait(MINUTE);
  await stage.subscription("ACTIVE");
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, null);
  const [pause] = await stage.events();
  assert.deepEqual([pause!.type, pause!.withdrawn, pause!.waiting], ["pause_collection", false, true], merchant.id);
});

test("an event of a case that was opened while a canceled subscription was stored is withdrawn", async () => {
  const merchant = await stage.enter();
  const withdrawn: string[] = [];
  let event!: Event;
  let transactions = 0;
  const racing: Database = {
    ...stage.db,
    async transaction(operation) {
      const result = await stage.db.transaction(operation);
      if (transactions++ > 0) return result;
      await stage.invoice({ subscriptionId: "sub_1" });
      event = await buildEvent(merchant.id);
      await insertEvents(stage.db, merchant.id, [event]);
      return result;
    },
  };
  await ingestSubscriptions(racing, merchant, canceled(), stage.ports, (_, ids) => withdrawn.push(...ids));
  assert.deepEqual(withdrawn, [event.id]);
});

test("a payment ends a case that is opened concurrently, also when the invoice had an earlier case", async () => {
  for (const hadEarlierCase of [false, true]) {
    const merchant = await stage.enter();
    if (hadEarlierCase) {
      await stage.invoice();
      await stage.decide();
      stage.wait(MINUTE);
      await stage.invoice({ state: "PAID" });
      await stage.decide();
      stage.wait(MINUTE);
    }
    const times = { createdAt: stage.now(), updatedAt: stage.now() };
    const fields = { customerId: "cus_1", amount: 4_900, currency: "EUR", ...times };
    const unpaid = [[{ ...fields, id: "inv_1", state: "UNPAID" }]] satisfies Invoice[][];
    const paid = [[{ ...fields, id: "txn_1", state: "PAID", invoiceId: "inv_1" }]] satisfies Transaction[][];
    const [opened, paymentStored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const opening = stage.db.transaction(async (tx) => {
      const withinTx: Database = {
        ...stage.db,
        run: tx.run,
        transaction: async (operation) => await finishTransaction(await operation(tx)),
      };
      await ingestInvoices(withinTx, merchant, unpaid, stage.ports, () => {});
      opened.resolve();
      await paymentStored.promise;
    });
    await opened.promise;
    // The payment's transaction cannot see the case yet. It is committed right after it.
    const racing: Database = {
      ...stage.db,
      async transaction(operation) {
        const result = await stage.db.transaction(operation);
        paymentStored.resolve();
        await opening;
        return result;
      },
    };
    await ingestTransactions(racing, merchant, paid, stage.ports, () => {});
    assert.equal((await stage.cases()).at(-1)!.end, "paid", `had an earlier case: ${hadEarlierCase}`);
  }
});

const canceled = () =>
  [
    [
      {
        ...{ id: "sub_1", state: "CANCELED" as const, customerId: "cus_1", amount: 1, currency: "EUR" },
        ...{ createdAt: START, updatedAt: stage.now() },
      },
    ],
  ] satisfies Subscription[][];

/** Not stored. */
async function buildEvent(merchantId: string): Promise<Event> {
  const [recoveryCase] = (await stage.db.run<{ id: string }>(CASES, [merchantId])).rows;
  const fields = { id: stage.ports.newId(), caseId: recoveryCase!.id, invoiceId: "inv_1", createdAt: stage.now() };
  return { ...fields, type: "recovery_action", body: "{}" };
}

const CASES = prepared("test_case_ids", "select id from cases where merchant_id = $1");

const anyInvoice = (overrides: object) => ({
  ...({ id: "inv_1", state: "UNPAID", customerId: "cus_1", amount: 1, currency: "EUR" } as const),
  createdAt: START,
  updatedAt: START,
  ...overrides,
});

test("a batch of new paid invoices is stored and counted", async () => {
  const merchant = await stage.enter();
  const paid = [[anyInvoice({ state: "PAID" }), anyInvoice({ id: "inv_2", state: "PAID" })]] satisfies Invoice[][];
  const push = () => ingestInvoices(stage.db, merchant, paid, stage.ports, () => {});
  assert.deepEqual([await push(), await push()], [[{ stored: 2, older: 0 }], [{ stored: 0, older: 0 }]]);
});

test("a paid version withdraws undelivered events, and an unpaid version withdraws none", async () => {
  const merchant = await stage.enter();
  const withdrawn: string[][] = [];
  const push = (invoice: ReturnType<typeof anyInvoice>) =>
    ingestInvoices(stage.db, merchant, [[invoice]], stage.ports, (_id, eventIds) => withdrawn.push([...eventIds]));
  await push(anyInvoice({}));
  await stage.decide();
  const waiting = (await stage.events()).filter((event) => event.waiting).map(({ id }) => id);
  stage.wait(MINUTE);
  await push(anyInvoice({ amount: 2, updatedAt: stage.now() }));
  assert.deepEqual(withdrawn, []);
  stage.wait(MINUTE);
  await push(anyInvoice({ state: "PAID", updatedAt: stage.now() }));
  assert.ok(waiting.length > 0);
  assert.deepEqual(withdrawn, [waiting]);
});

test("a database error reaches the caller without a second attempt", async () => {
  const merchant = await stage.enter();
  let calls = 0;
  const fail = () => {
    calls++;
    return Promise.reject(new Error("the disk is full"));
  };
  const failing: Database = { ...stage.db, run: fail, transaction: fail };
  const push = ingestInvoices(failing, merchant, [[anyInvoice({})]], stage.ports, () => {});
  await assert.rejects(push, /the disk is full/);
  assert.equal(calls, 1);
});
