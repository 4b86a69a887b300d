import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import type { BatchResult } from "../domain/ingest.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { prepared } from "../postgres/database.ts";
import { createGroupCommit } from "./group-commit.ts";
import { ingestInvoices } from "./ingest-invoices.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ports = testPorts(testClock());
const at = new Date("2026-01-10T00:00:00Z");
const invoice = (id: string, overrides: Partial<Invoice> = {}): Invoice => ({
  id,
  state: "UNPAID",
  customerId: "cus_1",
  amount: 4900,
  currency: "EUR",
  createdAt: at,
  updatedAt: at,
  ...overrides,
});
const buildInvoices = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) =>
    invoice(`${prefix}_${String(index).padStart(4, "0")}`, { state: "PAID" }),
  );
/** Rejected by PostgreSQL. The API would refuse it earlier. */
const buildInvalidInvoice = (id: string) => invoice(id, { amount: -1 });

const LOCK = prepared("test_lock", "select 1 from invoices where merchant_id = $1 and id = $2 for update");
const FIND = prepared(
  "test_find",
  `select i.id, i.state, xmin::text as transaction,
     (select count(*)::int4 from cases c where c.merchant_id = i.merchant_id and c.invoice_id = i.id) as cases
   from invoices i where merchant_id = $1 order by id`,
);

/** `flushes` holds the number of records of each flush. */
async function createMerchant() {
  const merchant = await testMerchant(database.db, ports);
  const flushes: number[] = [];
  const ingest = createGroupCommit<Invoice>((merchant, batches) => {
    flushes.push(batches.reduce((sum, { length }) => sum + length, 0));
    return ingestInvoices(database.db, merchant, batches, ports, () => {});
  });
  const push = (...records: Invoice[]) => ingest(merchant, records);
  const stored = async () => {
    const { rows } = await database.db.run<{ id: string; state: string; transaction: string; cases: number }>(FIND, [
      merchant.id,
    ]);
    return rows;
  };
  return { merchant, flushes, ingest, push, stored };
}

async function whileLocked({ id: merchantId }: Merchant, id: string, operation: () => void | Promise<void>) {
  await database.db.transaction(async (tx) => {
    await tx.run(LOCK, [merchantId, id]);
    await operation();
  });
}
const countStored = async (pushed: readonly Promise<BatchResult>[]) =>
  (await Promise.all(pushed)).map(({ stored }) => stored);
const buildNewerInvoice = (id: string) => invoice(id, { updatedAt: new Date(at.getTime() + 1) });

test("requests that arrive during a flush are stored in one transaction and answered after it", async () => {
  const { merchant, flushes, push, stored } = await createMerchant();
  assert.deepEqual(await push(invoice("a"), invoice("b")), { stored: 2, older: 0 });
  let answered = 0;
  const pushed: Promise<BatchResult>[] = [];
  await whileLocked(merchant, "a", async () => {
    await whileLocked(merchant, "b", async () => {
      pushed.push(push(buildNewerInvoice("a")));
      pushed.push(push(buildNewerInvoice("b"), invoice("c")), push(invoice("d")));
      pushed.push(push(invoice("e")), push(invoice("a"), invoice("f")), push(invoice("g"), invoice("h")));
      for (const each of pushed) each.then(() => answered++);
      await new Promise((resolve) => setTimeout(resolve, 50));
      assert.equal(answered, 0);
    });
  });
  assert.deepEqual(await countStored(pushed), [1, 2, 1, 1, 1, 2]);
  assert.deepEqual(flushes, [2, 1, 3, 5]);
  const rows = await stored();
  assert.deepEqual(
    rows.map(({ id, cases }) => [id, cases]),
    [..."abcdefgh"].map((id) => [id, 1]),
  );
  const transactions = (ids: string) =>
    new Set(rows.filter(({ id }) => ids.includes(id)).map(({ transaction }) => transaction)).size;
  assert.deepEqual([transactions("bcd"), transactions("efgh")], [1, 1]);
});

test("a request whose records make the statement fail is the only one to fail", async () => {
  const { merchant, push, stored } = await createMerchant();
  await push(invoice("a"));
  let pushed: Promise<PromiseSettledResult<BatchResult>[]> | undefined;
  await whileLocked(merchant, "a", () => {
    // Some requests may fail before the lock is released.
    pushed = Promise.allSettled([
      push(buildNewerInvoice("a")),
      push(invoice("b")),
      push(invoice("c"), buildInvalidInvoice("d")),
      push(invoice("e")),
      push(buildInvalidInvoice("f")),
    ]);
  });
  assert.deepEqual(
    (await pushed)!.map((outcome) => (outcome.status === "fulfilled" ? outcome.value.stored : outcome.reason.code)),
    [1, 1, "23514", 1, "23514"],
  );
  assert.deepEqual(
    (await stored()).map(({ id }) => id),
    ["a", "b", "e"],
  );
});

test("a flush stores at most 2,000 records, in the order of the requests", async () => {
  const { merchant, flushes, push } = await createMerchant();
  await push(invoice("a"));
  let pushed: Promise<BatchResult>[] = [];
  await whileLocked(merchant, "a", () => {
    pushed = [
      push(buildNewerInvoice("a")),
      ...Array.from({ length: 23 }, (_, index) => push(...buildInvoices(`in${index}`, 200))),
    ];
  });
  assert.deepEqual(await countStored(pushed), [1, ...Array(23).fill(200)]);
  assert.deepEqual(flushes, [1, 1, 400, 2_000, 2_000, 200]);
});

test("the newest version wins when several requests hold one id, and each request reports its own changes", async () => {
  const { merchant, push, stored } = await createMerchant();
  await push(invoice("a"), invoice("z"));
  let pushed: Promise<BatchResult>[] = [];
  await whileLocked(merchant, "a", () => {
    pushed = [
      push(buildNewerInvoice("a")),
      push(invoice("b", { updatedAt: new Date("2026-01-12T00:00:00Z"), state: "PAID" })),
      push(invoice("b", { updatedAt: new Date("2026-01-11T00:00:00Z") }), invoice("z")),
      push(invoice("z"), invoice("z")),
    ];
  });
  assert.deepEqual(await countStored(pushed), [1, 1, 0, 0]);
  assert.deepEqual(
    (await stored()).map(({ id, state }) => `${id} ${state}`),
    ["a UNPAID", "b PAID", "z UNPAID"],
  );
});

test("merchants do not wait for each other", async () => {
  const [merchantA, merchantB] = [await createMerchant(), await createMerchant()];
  await merchantA.push(invoice("a"));
  await whileLocked(merchantA.merchant, "a", async () => {
    const waiting = merchantA.push(buildNewerInvoice("a"));
    assert.equal((await merchantA.ingest(merchantB.merchant, [invoice("a")])).stored, 1);
    waiting.catch(() => {});
  });
});

test("all requests of a flush fail at once while the database is unavailable", async () => {
  const outage = Object.assign(new Error("outage"), { code: "ECONNREFUSED" });
  let flushes = 0;
  const first = Promise.withResolvers<BatchResult[]>();
  const ingest = createGroupCommit<Invoice>(() => (flushes++ === 0 ? first.promise : Promise.reject(outage)));
  const merchant = await testMerchant(database.db, ports);
  const pushed = [1, 2, 3].map(() => ingest(merchant, [invoice(randomUUID())]));
  first.resolve([{ stored: 1, older: 0 }]);
  const outcomes = await Promise.allSettled(pushed);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "rejected"],
  );
  assert.equal(flushes, 2);
});

test("each version of a record counts, even when one request or one flush holds several", async () => {
  const { merchant, flushes, push } = await createMerchant();
  assert.equal((await push(invoice("a"), buildNewerInvoice("a"))).stored, 2);
  assert.deepEqual(await push(invoice("c"), invoice("b"), invoice("a")), { stored: 2, older: 1 });
  const pushed: Promise<BatchResult>[] = [];
  await whileLocked(merchant, "a", async () => {
    pushed.push(push(invoice("a", { updatedAt: new Date(at.getTime() + 2) })));
    await new Promise((resolve) => setTimeout(resolve, 50));
    pushed.push(push(invoice("d"), invoice("e"), invoice("d")), push(invoice("e"), invoice("f"), invoice("b")));
  });
  assert.deepEqual(await countStored(pushed), [1, 2, 1]);
  assert.deepEqual(flushes.slice(2), [1, 6]);
});

test("concurrent requests of all sizes are stored unchanged", async () => {
  const { merchant, ingest, stored } = await createMerchant();
  const states = ["PAID", "UNPAID", "VOIDED", "DRAFT", "REFUNDED"] as const;
  const expected = new Map<string, string>();
  const push = async (from: number) => {
    for (let round = 0; round < 12; round++) {
      const records = Array.from({ length: 1 + ((from * 7 + round * 31) % 60) }, (_, n) => {
        const id = `in_${"x".repeat((from + n) % 90)}_${from}_${round}_${n}`;
        return invoice(id, { state: states[(from + round + n) % states.length]! });
      });
      for (const { id, state } of records) expected.set(id, state);
      assert.equal((await ingest(merchant, records)).stored, records.length);
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, from) => push(from)));
  assert.deepEqual(new Map((await stored()).map(({ id, state }) => [id, state])), expected);
});

/** Flushes end when `end` is called. `flushes` holds the number of requests of each. */
function createPausedFlushes(slowMs: number) {
  const flushes: number[] = [];
  const unlocks: (() => void)[] = [];
  const ingest = createGroupCommit<Invoice>(async (_, batches) => {
    flushes.push(batches.length);
    await new Promise<void>((resolve) => unlocks.push(resolve));
    return batches.map(({ length }) => ({ stored: length, older: 0 }));
  }, slowMs);
  const merchant = { id: randomUUID() } as Merchant;
  const pushed: Promise<BatchResult>[] = [];
  const push = (count: number) => {
    for (let n = 0; n < count; n++) pushed.push(ingest(merchant, [invoice(`i${pushed.length}`)]));
  };
  const end = async (index: number) => {
    unlocks[index]!();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { flushes, push, end, settled: () => Promise.all(pushed) };
}

test("a second flush starts once as many requests wait as the first one holds, and never a third", async () => {
  const { flushes, push, end, settled } = createPausedFlushes(60_000);
  push(1);
  push(4);
  assert.deepEqual(flushes, [1, 2]);
  await end(0);
  assert.deepEqual(flushes, [1, 2, 2]);
  push(3);
  await end(1);
  assert.deepEqual(flushes, [1, 2, 2, 3]);
  push(2);
  await end(2);
  assert.deepEqual(flushes, [1, 2, 2, 3], "two requests wait, fewer than the three in the first flush");
  push(1);
  assert.deepEqual(flushes, [1, 2, 2, 3, 3]);
  await end(3);
  await end(4);
  await settled();
});

test("a second flush starts with any number of requests when the first one is slow", async () => {
  const { flushes, push, end, settled } = createPausedFlushes(50);
  push(1);
  push(8);
  await end(0);
  await end(1);
  assert.deepEqual(flushes, [1, 2, 6]);
  push(2);
  assert.deepEqual(flushes, [1, 2, 6]);
  while (flushes.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(flushes, [1, 2, 6, 2]);
  await end(2);
  await end(3);
  await settled();
});
