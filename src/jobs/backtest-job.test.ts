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

/**
 * @param maxAttempts  attempts that fit
 * @param pageSize  attempts that are read at a time
 */
async function collectSentAttempts(maxAttempts?: number, pageSize?: number) {
  const attempts: PastAttempt[] = [];
  const runner = { add: (some: readonly PastAttempt[]) => void attempts.push(...some), judge: async () => ({}) };
  const claimed = {
    job: { merchantId, id: "", kind: "backtest", askedAt: START, actor: COMMAND_LINE_ACTOR, input: {}, progress: {} },
    ended: { result: null, failure: null, endedAt: null, dueAt: null, holder: null },
  } as const;
  const outcome = await createBacktestHandler(
    () => ({ ...runner, stop: async () => {} }),
    maxAttempts,
    pageSize,
  )({
    job: { ...claimed.job, ...claimed.ended },
    db: stage.db,
    extendLease: async () => true,
    signal: new AbortController().signal,
  });
  return { attempts, result: outcome!.result as { isCut: boolean } };
}

/** An attempt this many days after START. */
const attempt = (invoiceId: string, days: number, over: Partial<Transaction> = {}) => {
  const at = new Date(START.getTime() + days * DAY);
  return stage.transaction({ invoiceId, createdAt: at, updatedAt: at, ...over });
};

test("gateway error numbers are normalized as in the code tables", async () => {
  await attempt("inv_1", 0, { paymentGatewayErrorCode: "2018", paymentGatewayName: "Braintree" });
  const { attempts } = await collectSentAttempts();
  assert.deepEqual(
    attempts.map(({ gatewayCode }) => gatewayCode),
    ["braintree 2018"],
  );
});

test("the initiator is passed on, so that a payment by the customer is no retry", async () => {
  await attempt("inv_1", 0);
  await attempt("inv_1", 1, { state: "PAID", initiator: "CUSTOMER" });
  const { attempts } = await collectSentAttempts();
  assert.deepEqual(
    attempts.map(({ initiator }) => initiator),
    [null, "CUSTOMER"],
  );
});

test("only whole invoices with the last ids are judged when the attempts do not fit", async () => {
  for (const invoiceId of ["inv_1", "inv_2", "inv_3"]) {
    await attempt(invoiceId, 0);
    await attempt(invoiceId, 1);
    await attempt(invoiceId, 2, { state: "PAID" });
  }
  const paid = "failed failed paid";
  for (const pageSize of [1, 2, 3, 4, 100]) {
    const approvalsWith = async (maxAttempts: number) => {
      const { attempts, result } = await collectSentAttempts(maxAttempts, pageSize);
      const invoices = Map.groupBy(attempts, ({ invoiceId }) => invoiceId);
      const describe = (some: PastAttempt[]) => some.map(({ approved }) => (approved ? "paid" : "failed")).join(" ");
      return [result.isCut, Object.fromEntries([...invoices].map(([id, some]) => [id, describe(some)]))];
    };
    assert.deepEqual(
      await approvalsWith(9),
      [false, { inv_1: paid, inv_2: paid, inv_3: paid }],
      `${pageSize} at a time`,
    );
    for (const maxAttempts of [6, 7, 8])
      assert.deepEqual(
        await approvalsWith(maxAttempts),
        [true, { inv_2: paid, inv_3: paid }],
        `${maxAttempts}, ${pageSize} at a time`,
      );
    assert.deepEqual(await approvalsWith(5), [true, { inv_3: paid }], `${pageSize} at a time`);
  }
});

test("a backtest without a result says whether there are no attempts or too many for one invoice", async () => {
  await assert.rejects(collectSentAttempts(), /^Error: No payment attempts are stored/);
  for (const day of [0, 1, 2]) await attempt("inv_1", day);
  for (const pageSize of [1, 2, 100])
    await assert.rejects(
      collectSentAttempts(2, pageSize),
      /^Error: The invoice with the last id has more than 2 payment attempts, the limit of a backtest\. No backtest was made\.$/,
    );
});

test("attempts that the gateway blocked are left out", async () => {
  await attempt("inv_1", 0);
  await attempt("inv_1", 1, { paymentGatewayStatus: "not_sent_to_network" });
  await attempt("inv_1", 2, { paymentGatewayErrorCode: "previously_declined_do_not_retry" });
  const { attempts } = await collectSentAttempts();
  assert.deepEqual(
    attempts.map(({ at }) => at),
    [START],
  );
});
