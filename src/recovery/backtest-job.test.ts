import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { COMMAND_LINE } from "../domain/person.ts";
import type { Transaction } from "../domain/transaction.ts";
import { backtestWork } from "./backtest-job.ts";
import { DAY, openStage, START } from "./stage.fixture.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
let merchantId: string;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

/** What the job hands over of what was pushed, and what it says of that. */
async function handedOver() {
  const attempts: PastAttempt[] = [];
  const judge = { add: (some: readonly PastAttempt[]) => void attempts.push(...some), judge: async () => ({}) };
  const held = {
    job: { merchantId, id: "", kind: "backtest", askedAt: START, actor: COMMAND_LINE, input: {}, progress: {} },
    ended: { result: null, failure: null, endedAt: null, dueAt: null, holder: null },
  } as const;
  const done = await backtestWork(() => ({ ...judge, stop: async () => {} }))({
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
  const { attempts } = await handedOver();
  assert.deepEqual(
    attempts.map(({ gatewayCode }) => gatewayCode),
    ["braintree 2018"],
  );
});

test("who made an attempt is handed over, so that a customer's own payment is no retry", async () => {
  await attempt("inv_1", 0);
  await attempt("inv_1", 1, { state: "PAID", initiator: "CUSTOMER" });
  const { attempts } = await handedOver();
  assert.deepEqual(
    attempts.map(({ initiator }) => initiator),
    [null, "CUSTOMER"],
  );
});
