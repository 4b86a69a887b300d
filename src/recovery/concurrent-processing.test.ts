import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import type { Merchant } from "../domain/merchant.ts";
import { createModelCache } from "../learning/model-cache.ts";
import { startTracerSdk } from "../tracing/tracer-sdk.fixture.ts";
import { type BatchProcessing, processBatch } from "./process-batch.ts";
import { processDueCases } from "./process-due-cases.ts";
import { DAY, MINUTE, openStage } from "./stage.fixture.ts";

// Several processes that decide at the same time.
const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter(true, { engine: "static" });
});
const log = pino({ level: "silent" });
const { db, ports } = stage;
const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
const buildProcessing = (overrides: Partial<BatchProcessing> = {}): BatchProcessing => ({
  ...{ db, ports, log, models, onEvents() {}, onWithdrawn() {} },
  ...overrides,
});

async function pushUnpaidInvoice(id: string, customerId: string) {
  await stage.invoice({ id, customerId });
  await stage.transaction({ invoiceId: id, customerId, cardFingerprint: `card of ${customerId}` });
}
const retries = async () => (await stage.actions()).filter(({ type, decided }) => type === "RETRY" && decided);

/** Moves the clock one minute past the time at which the latest plan is decided. */
async function advanceUntilDue() {
  const latest = Math.max(...(await stage.actions()).map(({ ideal }) => ideal.getTime()));
  stage.at(latest - 49 * MINUTE);
}

/** Runs one batch, and during its first case a batch of another process. */
async function runOverlapping(limit: number) {
  let isFirst = true;
  let second = 0;
  const pause = async () => {
    if (!isFirst) return;
    isFirst = false;
    second = await processBatch(buildProcessing(), merchant.id, limit);
  };
  const first = await processBatch(buildProcessing({ pause }), merchant.id, limit);
  return [first, second];
}

test("two processes decide for one merchant at the same time, each for its own cases", async () => {
  for (const n of [1, 2, 3, 4]) await pushUnpaidInvoice(`inv_${n}`, `cus_${n}`);
  await stage.decide();
  await advanceUntilDue();
  assert.deepEqual(await runOverlapping(2), [2, 2]);
  const requested = await retries();
  assert.equal(requested.length, 4);
  const ids = (await stage.actions()).map(({ id }) => id);
  assert.equal(new Set(ids).size, 4);
});

test("a process leaves queue entries alone that another one is processing", async () => {
  for (const n of [1, 2]) await pushUnpaidInvoice(`inv_${n}`, `cus_${n}`);
  assert.deepEqual(await runOverlapping(100), [2, 0]);
  assert.equal(await processBatch(buildProcessing(), merchant.id, 100), 0);
});

test("one of two simultaneous retries of a customer stands, and the other is decided again with it in view", async (t) => {
  await pushUnpaidInvoice("inv_1", "cus_1");
  await pushUnpaidInvoice("inv_2", "cus_1");
  await stage.decide();
  await advanceUntilDue();
  const sdk = startTracerSdk();
  t.after(sdk.stop);
  assert.deepEqual(await runOverlapping(1), [0, 1]);
  const overtaken = sdk.spans().map(({ attributes }) => attributes["dunlin.decision.overtaken"] ?? false);
  assert.deepEqual(overtaken.sort(), [false, true]);
  assert.equal((await retries()).length, 1);
  await stage.decide();
  const { rows } = await db.run<{ n: number }>({ name: "", text: "select count(*)::int as n from case_pokes" });
  assert.deepEqual(rows, [{ n: 0 }]);
  stage.wait(DAY);
  await stage.decide();
  assert.ok((await retries()).length >= 1);
});

test("a retry requested by another process does not delay other customers", async () => {
  await pushUnpaidInvoice("inv_1", "cus_1");
  await pushUnpaidInvoice("inv_2", "cus_2");
  await stage.decide();
  await advanceUntilDue();
  assert.deepEqual(await runOverlapping(1), [1, 1]);
  assert.equal((await retries()).length, 2);
});

test("several merchants are decided at the same time, and every due one gets its turn", async () => {
  const merchants: Merchant[] = [];
  for (let n = 0; n < 9; n++) {
    merchants.push(await stage.enterBeside());
    await stage.invoice();
  }
  let most = 0;
  let inside = 0;
  const pause = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 20));
    inside--;
  };
  let stepped = 0;
  for (let more = 1; more > 0; stepped += more)
    more = (await processDueCases({ ...buildProcessing({ pause }), merchantsAtOnce: 4 })).processedCount;
  assert.ok(stepped >= 9, `${stepped}`);
  assert.ok(most > 1 && most <= 4, `${most}`);
});
