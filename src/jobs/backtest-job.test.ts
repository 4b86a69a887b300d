import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { Transaction } from "../domain/transaction.ts";
import { DAY, openStage, START } from "../recovery/stage.fixture.ts";
import { createBacktestHandler } from "./backtest-job.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
let merchantId: string;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

/** What the job hands over of what was pushed, and what it says of that. `most`: attempts that fit, `part`: that are read at a time. */
async function collectSentAttempts(most?: number, part?: number) {
  const attempts: PastAttempt[] = [];
  const judge = { add: (some: readonly PastAttempt[]) => void attempts.push(...some), judge: async () => ({}) };
  const held = {
    job: { merchantId, id: "", kind: "backtest", askedAt: START, actor: COMMAND_LINE_ACTOR, input: {}, progress: {} },
    ended: { result: null, failure: null, endedAt: null, dueAt: null, holder: null },
  } as const;
  const done = await createBacktestHandler(
    () => ({ ...judge, stop: async () => {} }),
    most,
    part,
  )({
    job: { ...held.job, ...held.ended },
    db: stage.db,
    keep: async () => true,
    signal: new AbortController().signal,
  });
  return { attempts, result: done!.result as { isCut: boolean } };
}

/** An attempt, so many days after the beginning. */
const attempt = (invoiceId: string, days: number, over: Partial<Transaction> = {}) => {
  const at = new Date(START.getTime() + days * DAY);
  return stage.transaction({ invoiceId, createdAt: at, updatedAt: at, ...over });
};

test("a number of the gateway's is handed over as the tables of codes write it", async () => {
  await attempt("inv_1", 0, { paymentGatewayErrorCode: "2018", paymentGatewayName: "Braintree" });
  const { attempts } = await collectSentAttempts();
  assert.deepEqual(
    attempts.map(({ gatewayCode }) => gatewayCode),
    ["braintree 2018"],
  );
});

test("who made an attempt is handed over, so that a customer's own payment is no retry", async () => {
  await attempt("inv_1", 0);
  await attempt("inv_1", 1, { state: "PAID", initiator: "CUSTOMER" });
  const { attempts } = await collectSentAttempts();
  assert.deepEqual(
    attempts.map(({ initiator }) => initiator),
    [null, "CUSTOMER"],
  );
});

test("where more is known than fits, whole invoices are judged, those whose ids come last; what fits just so is not cut", async () => {
  for (const invoiceId of ["inv_1", "inv_2", "inv_3"]) {
    await attempt(invoiceId, 0);
    await attempt(invoiceId, 1);
    await attempt(invoiceId, 2, { state: "PAID" });
  }
  const paid = "failed failed paid";
  for (const part of [1, 2, 3, 4, 100]) {
    const of = async (most: number) => {
      const { attempts, result } = await collectSentAttempts(most, part);
      const invoices = Map.groupBy(attempts, ({ invoiceId }) => invoiceId);
      const words = (some: PastAttempt[]) => some.map(({ approved }) => (approved ? "paid" : "failed")).join(" ");
      return [result.isCut, Object.fromEntries([...invoices].map(([id, some]) => [id, words(some)]))];
    };
    assert.deepEqual(await of(9), [false, { inv_1: paid, inv_2: paid, inv_3: paid }], `${part} at a time`);
    for (const most of [6, 7, 8])
      assert.deepEqual(await of(most), [true, { inv_2: paid, inv_3: paid }], `${most}, ${part} at a time`);
    assert.deepEqual(await of(5), [true, { inv_3: paid }], `${part} at a time`);
  }
});

test("where nothing is judged it is said whether nothing is known, or one invoice alone has more attempts than fit", async () => {
  await assert.rejects(collectSentAttempts(), /^Error: No payment attempt is known yet/);
  for (const day of [0, 1, 2]) await attempt("inv_1", day);
  for (const part of [1, 2, 100])
    await assert.rejects(
      collectSentAttempts(2, part),
      /^Error: The invoice whose id comes last has more than 2 payment attempts\. No more can be judged, so nothing was\.$/,
    );
});

test("an attempt that the gateway blocked is not handed over", async () => {
  await attempt("inv_1", 0);
  await attempt("inv_1", 1, { paymentGatewayStatus: "not_sent_to_network" });
  await attempt("inv_1", 2, { paymentGatewayErrorCode: "previously_declined_do_not_retry" });
  const { attempts } = await collectSentAttempts();
  assert.deepEqual(
    attempts.map(({ at }) => at),
    [START],
  );
});
