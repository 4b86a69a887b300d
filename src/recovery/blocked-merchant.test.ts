import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Merchant } from "../domain/merchant.ts";
import { type Database, prepared, type Tx } from "../postgres/database.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import { openStage } from "./stage.fixture.ts";

// Simulates a process that stops while it decides for a merchant.
const stage = await openStage();
after(() => stage.drop());
let blockedMerchant: Merchant;
beforeEach(async () => {
  blockedMerchant = await stage.enter();
});

/** Runs `meanwhile` while a transaction that did `work` stays open. */
async function whileBlocked(work: (tx: Tx) => Promise<unknown>, meanwhile: () => Promise<void>) {
  const [started, finished] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const blockingTransaction = stage.db.transaction(async (tx) => {
    await work(tx);
    started.resolve();
    await finished.promise;
  });
  await started.promise;
  try {
    await meanwhile();
  } finally {
    finished.resolve();
    await blockingTransaction;
  }
}

test("a merchant is skipped at once, and the next one processed, when another process is stuck on it", async () => {
  await stage.invoice();
  await whileBlocked(
    (tx) => advanceMerchantClock(tx, blockedMerchant.id, stage.now()),
    async () => {
      const begunMs = performance.now();
      await stage.decide();
      assert.equal((await stage.events()).length, 0);
      await stage.enterBeside();
      await stage.invoice();
      await stage.decide();
      assert.equal((await stage.events()).length, 1);
      assert.ok(performance.now() - begunMs < 15_000, "it would be 30 s");
    },
  );
});

test("a merchant's first decision does not wait either, and is made when the other process is gone", async () => {
  await stage.invoice();
  const clocks = prepared("test_no_clock", "delete from merchant_clocks where merchant_id = $1");
  await stage.db.run(clocks, [blockedMerchant.id]);
  await stage.decide();
  assert.equal((await stage.events()).length, 1);
});

test("a lock held too long postpones one merchant, but not its cases", async () => {
  await stage.invoice();
  const lockTimeout = Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" });
  const blockedDb: Database = { ...stage.db, transaction: () => Promise.reject(lockTimeout) };
  await stage.decide(blockedDb);
  assert.equal((await stage.events()).length, 0);
  await stage.decide();
  assert.equal((await stage.events()).length, 1);
});

test("a statement that waits for a lock times out, and is not repeated at once", async () => {
  const { db } = stage;
  const short = prepared("test_short_lock", "select set_config('lock_timeout', '200', true)");
  let runs = 0;
  await whileBlocked(
    (tx) => advanceMerchantClock(tx, blockedMerchant.id, stage.now()),
    async () => {
      const waiting = db.transaction(async (tx) => {
        runs++;
        await tx.run(short);
        await advanceMerchantClock(tx, blockedMerchant.id, stage.now());
      });
      await assert.rejects(waiting, { code: "55P03" });
    },
  );
  assert.equal(runs, 1);
});

test("the server ends a session stuck in a transaction, which releases its locks", async () => {
  const { db } = stage;
  const short = prepared("test_short_idle", "select set_config('idle_in_transaction_session_timeout', '200', true)");
  let runs = 0;
  await db.transaction(async (tx) => {
    await tx.run(short);
    await advanceMerchantClock(tx, blockedMerchant.id, stage.now());
    if (++runs > 1) return;
    await sleep(600);
    // The lock is free: another transaction gets it at once.
    await db.transaction((other) => advanceMerchantClock(other, blockedMerchant.id, stage.now()));
  });
  assert.equal(runs, 2, "what was cut off is done again");
});

test("every pooled session has timeouts for locks, statements, idle transactions and dead networks", async () => {
  const SETTINGS = prepared(
    "test_session_limits",
    `select current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle,
       current_setting('statement_timeout') as statement`,
  );
  const { rows } = await stage.db.run(SETTINGS);
  assert.deepEqual(rows, [{ lock: "10s", idle: "30s", statement: "61s" }]);
});
