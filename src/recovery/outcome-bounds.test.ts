import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { TransactionFacts } from "../tables/transactions.ts";
import { type DeliveredAction, outcomeOf, type PaymentFacts } from "./outcome.ts";
import { DAY, HOUR, START } from "./stage.fixture.ts";

/** The action's first delivery attempt; its ideal time is an hour later. */
const STARTED_MS = START.getTime();
const IDEAL_MS = STARTED_MS + HOUR;

const buildAction = (overrides: Partial<DeliveredAction>): DeliveredAction => ({
  ...{ id: "action_1", caseId: "case_1", invoiceId: "inv_1", subscriptionId: null, customerId: "cus_1" },
  ...{ transactionId: null, paymentMethodType: "card", cardCountry: null, currency: "EUR", amountDue: 4900 },
  ...{ type: "RETRY", status: "SENT", integrationType: "CUSTOM", actionSuggestion: "RETRY", reasons: [] },
  ...{ idealRetryTime: new Date(IDEAL_MS), decidedAt: START, executedAt: null, attemptedAt: null },
  ...{ createdAt: START, updatedAt: START, firstAttemptAt: new Date(STARTED_MS), delivery: "delivered" },
  ...overrides,
});
const buildAttempt = (atMs: number, state: TransactionFacts["state"] = "PAID"): TransactionFacts => ({
  ...{ id: "txn_1", state, invoiceId: "inv_1", amount: 4900, currency: "EUR" },
  ...{ createdAt: new Date(atMs), updatedAt: new Date(atMs) },
});
const buildFacts = (overrides: Partial<PaymentFacts>): PaymentFacts => ({
  ...{ paidAt: null, unpaidAt: null, paidInFull: () => false, transactions: [], ended: false },
  ...overrides,
});

suite("a retry", () => {
  const deadline = IDEAL_MS + 48 * HOUR;
  const next = IDEAL_MS + 12 * HOUR;
  const status = (overrides: Partial<PaymentFacts>, until: number | null = null) =>
    outcomeOf(buildAction({}), buildFacts(overrides), until === null ? null : new Date(until), new Date(deadline + DAY))
      .status;

  test("includes an attempt from its first delivery attempt to the end of its wait, both inclusive", () => {
    const byAttempt = (atMs: number) => status({ transactions: [buildAttempt(atMs, "FAILED")] });
    assert.deepEqual([byAttempt(STARTED_MS - 1), byAttempt(STARTED_MS)], ["EXPIRED", "FAILED"]);
    assert.deepEqual([byAttempt(deadline), byAttempt(deadline + 1)], ["FAILED", "EXPIRED"]);
  });

  test("does not include an attempt dated exactly at the next retry's first delivery attempt", () => {
    const byAttempt = (atMs: number) => status({ transactions: [buildAttempt(atMs)] }, next);
    assert.deepEqual([byAttempt(next - 1), byAttempt(next)], ["SUCCEEDED", "EXPIRED"]);
  });

  test("counts a paid version within the same bounds", () => {
    const byVersion = (atMs: number, until: number | null = null) => status({ paidAt: new Date(atMs) }, until);
    assert.deepEqual([byVersion(STARTED_MS - 1), byVersion(STARTED_MS)], ["CANCELED", "SUCCEEDED"]);
    assert.deepEqual([byVersion(deadline), byVersion(deadline + 1)], ["SUCCEEDED", "EXPIRED"]);
    assert.deepEqual([byVersion(next - 1, next), byVersion(next, next)], ["SUCCEEDED", "EXPIRED"]);
    const late = { firstAttemptAt: new Date(deadline + 1) };
    const paid = buildFacts({ paidAt: late.firstAttemptAt });
    assert.equal(outcomeOf(buildAction(late), paid, null, new Date(deadline + DAY)).status, "EXPIRED");
  });

  test("fails when an unpaid version is dated from its ideal time to the end of its wait, both inclusive", () => {
    const byVersion = (atMs: number) => status({ unpaidAt: new Date(atMs) });
    assert.deepEqual([byVersion(IDEAL_MS - 1), byVersion(IDEAL_MS)], ["EXPIRED", "FAILED"]);
    assert.deepEqual([byVersion(deadline), byVersion(deadline + 1)], ["FAILED", "EXPIRED"]);
  });
});

suite("a card change", () => {
  const deadline = IDEAL_MS + 7 * DAY;
  const status = (paidMs: number, overrides: Partial<DeliveredAction> = {}) =>
    outcomeOf(
      buildAction({ type: "CARD_CHANGE", actionSuggestion: "CARD_CHANGE", ...overrides }),
      buildFacts({ paidAt: new Date(paidMs), ended: true }),
      null,
      new Date(paidMs + DAY),
    ).status;

  test("succeeds when the invoice is paid from its first delivery attempt to its deadline, both inclusive", () => {
    assert.deepEqual(
      [status(STARTED_MS - 1), status(STARTED_MS), status(deadline)],
      ["CANCELED", "SUCCEEDED", "SUCCEEDED"],
    );
  });

  test("expires when the invoice is paid after its deadline, even if the case was not stepped in between", () => {
    assert.equal(status(deadline + 1), "EXPIRED");
    assert.equal(status(deadline + 1, { status: "EXPIRED" }), "EXPIRED");
    assert.equal(status(deadline + 1, { firstAttemptAt: new Date(deadline + 1) }), "EXPIRED");
  });
});
