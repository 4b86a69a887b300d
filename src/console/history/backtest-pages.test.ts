import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { createVariedHistory, splitIntoBatches } from "../../../test/varied-history.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { COMMAND_LINE_ACTOR } from "../../domain/person.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { runBacktestInWorker } from "../../process/job-loops.ts";
import { readPretrainedModel } from "../../process/pretrained-model-file.ts";
import { listAuditEntries, writeAuditEntry } from "../../tables/audit-log.ts";
import { claimJob, extendJobLease, findJob } from "../../tables/job-queue.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const SCRIPT = "<script>alert(1)</script>.csv";
const prior = readPretrainedModel(pino({ level: "silent" }));
const runBacktests = () => runBacktestInWorker(prior, at.ports);
let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const browser = async (role: "owner" | "developer" | "viewer") => at.browser(await at.person(role, merchant));
  return { merchant, browser };
}

async function runMerchantLife(merchant: Merchant, invoices: number) {
  // Of 1000 invoices, a third agrees with a strategy that makes one of these choices, which is enough for an estimate.
  const transactions = createVariedHistory(invoices, Date.UTC(2025, 0, 1), undefined, [1, 2, 8]).map(
    ({ invoiceId, customerId, at, isPaid, amount }, n): Transaction => ({
      id: `tx_${n}`,
      state: isPaid ? "PAID" : "FAILED",
      invoiceId,
      customerId,
      amount,
      currency: "HUF",
      createdAt: at,
      updatedAt: at,
      paymentMethodType: "card",
      cardBrand: "visa",
      cardCountry: "HU",
      ...(isPaid ? {} : { networkDeclineCode: "51" }),
    }),
  );
  for (const batch of splitIntoBatches(transactions))
    await ingestTransactions(at.db, merchant, [[...batch]], at.ports, () => {});
}

test("a form starts a backtest, which runs in its own thread and reports no more than the history shows", async () => {
  const { merchant, browser } = await shop();
  await runMerchantLife(merchant, 1000);
  const owner = await browser("owner");
  const asked = await owner.post("/backtest");
  const path = String(asked.headers.location);
  assert.match((await owner.get(path)).body, /data-live="2"[\s\S]*Reading: 0 payment attempts so far/);
  assert.equal((await owner.post("/backtest")).statusCode, 409, "one at a time");
  // The service's thread stays free: a short timer is never late by the duration of the backtest.
  let [ticks, longestMs, last] = [0, 0, performance.now()];
  const timer = setInterval(() => {
    ticks++;
    longestMs = Math.max(longestMs, performance.now() - last);
    last = performance.now();
  }, 5);
  const began = performance.now();
  assert.equal(await at.work("backtest", runBacktests), true);
  clearInterval(timer);
  const tookMs = performance.now() - began;
  assert.ok(ticks > 10 && longestMs < tookMs / 4, `${ticks} ticks, ${longestMs} of ${tookMs} ms`);
  const viewer = await browser("viewer");
  const page = (await viewer.get(path)).body;
  assert.match(page, /\d[\d,]+ payment attempts, from <time datetime="2025-01-01T09:00/);
  assert.match(
    page,
    /invoices failed \(HUF [\d,]+\.00 in total\)\. Your system recovered [\d,]+ of them/,
    "HUF has two decimals",
  );
  assert.match(page, /Days 1, 3, 5 and 7, for the first retry: HUF [\d,.]+ to HUF [\d,.]+ less than your system\./);
  assert.match(page, /<line class="range bad"/);
  assert.match(page, />insufficient funds<\/text>/);
  assert.match(page, /<h2>Assumptions<\/h2>/);
  assert.doesNotMatch(page, /data-live/);
  const csv = (await viewer.get(`${path}/ways.csv`)).body.trim().split("\r\n");
  assert.equal(csv.length, 11, "five ways, by invoices and by money");
  assert.match(
    csv.find((line) => line.startsWith("HUF,fixed,") && line.includes(",money,"))!,
    /,-0\.\d+,-0\.\d+,1,\d+.*,less$/,
  );
  const [entry] = await listAuditEntries(at.db, merchant.id, { noun: "backtest" }, 5);
  assert.deepEqual([entry?.operation, entry?.actor], ["backtest.asked", owner.person.email]);
});

test("both pages show the next step without data, and a backtest without data says so", async () => {
  const { merchant, browser } = await shop();
  const owner = await browser("owner");
  const page = (await owner.get("/import")).body;
  assert.match(page, /No history yet/);
  assert.ok(page.includes(`npx dunlin import attempts.csv --merchant ${merchant.id} --as transactions --dry-run`));
  assert.match((await owner.get("/backtest")).body, /No backtests yet[\s\S]*npx dunlin backtest attempts\.csv/);
  const path = String((await owner.post("/backtest")).headers.location);
  await at.work("backtest", runBacktests);
  const report = (await owner.get(path)).body;
  assert.match(report, /<title>Backtest of \d+ \w+ \d{4} \d\d:\d\d · Dunlin<[\s\S]*No payment attempts are stored/);
  assert.match((await owner.get("/backtest")).body, />failed</);
  assert.equal((await owner.get(`${path}/ways.csv`)).statusCode, 404);
});

test("a backtest of recent failures says when they count", async () => {
  const { merchant, browser } = await shop();
  await runMerchantLife(merchant, 1);
  const owner = await browser("owner");
  const path = String((await owner.post("/backtest")).headers.location);
  await at.work("backtest", runBacktests);
  assert.match(
    (await owner.get(path)).body,
    /1 invoice failed at first.*; the first invoice counts once it reaches 2025-01-29\./,
  );
});

test("a role without the permission is refused, and another merchant's backtest is not found", async () => {
  const { browser } = await shop();
  const viewer = await browser("viewer");
  assert.equal((await viewer.post("/backtest")).statusCode, 403);
  assert.doesNotMatch((await viewer.get("/backtest")).body, /Judge the history/);
  const path = String((await (await browser("owner")).post("/backtest")).headers.location);
  const stranger = await (await shop()).browser("owner");
  for (const each of [path, `${path}/ways.csv`, "/backtest/nothing"])
    assert.equal((await stranger.get(each)).statusCode, 404);
  await at.work("backtest", runBacktests);
});

test("imports are listed in order with any file name", async () => {
  const { merchant, browser } = await shop();
  await runMerchantLife(merchant, 10);
  const details = { rows: 12_345, "known before": 5, file: SCRIPT };
  await writeAuditEntry(
    at.db,
    merchant.id,
    COMMAND_LINE_ACTOR,
    { operation: "history.imported", object: "invoices", details },
    at.ports,
  );
  const viewer = await browser("viewer");
  const page = (await viewer.get("/import")).body;
  assert.match(page, /payment attempts</);
  assert.match(page, /command line[\s\S]*&lt;script&gt;[\s\S]*12,345/);
  assert.ok(!page.includes("<script>alert"));
  assert.match(
    (await viewer.get("/import.csv")).body,
    /,command line,invoices,<script>alert\(1\)<\/script>\.csv,12345,5/,
  );
});

const LEASE_OVER = prepared(
  "test_lease_over",
  "update jobs set due_at = $2 where merchant_id = $1 and due_at is not null",
);

test("a job whose process died is taken over, and late writes of the first process are refused", async () => {
  const { merchant, browser } = await shop();
  await (await browser("owner")).post("/backtest");
  const take = () => {
    const now = at.ports.realNow();
    return claimJob(at.db, "backtest", now, new Date(now.getTime() + 30_000), at.ports.newId());
  };
  const first = (await take())!;
  assert.equal(await take(), null, "it is held");
  await at.db.run(LEASE_OVER, [merchant.id, at.ports.realNow()]);
  const second = (await take())!;
  assert.equal(second.id, first.id);
  assert.equal(await extendJobLease(at.db, first, at.ports.realNow(), { read: 1 }), false);
  assert.equal(await extendJobLease(at.db, second, at.ports.realNow(), { read: 2 }), true);
  assert.deepEqual((await findJob(at.db, merchant.id, first.id, "backtest"))!.progress, { read: 2 });
  await at.work("backtest", runBacktests);
});
