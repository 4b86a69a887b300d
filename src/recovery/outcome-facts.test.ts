import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ActionStatus } from "../domain/recovery-action.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import {
  type DeliveredAction,
  hasNamingAttempt,
  isAwaited,
  isStale,
  outcomeDueAt,
  outcomeOf,
  type PaymentFacts,
  recovers,
} from "./outcome.ts";
import { DAY, HOUR, START } from "./stage.fixture.ts";

/** The action was delivered at START; its ideal time is an hour later. */
const IDEAL = HOUR;
const at = (ms: number) => new Date(START.getTime() + ms);
const buildAction = (overrides: Partial<DeliveredAction> = {}): DeliveredAction => ({
  ...{ id: "action_1", caseId: "case_1", invoiceId: "inv_1", subscriptionId: null, customerId: "cus_1" },
  ...{ transactionId: null, paymentMethodType: "card", cardCountry: null, currency: "EUR", amountDue: 4900 },
  ...{ type: "RETRY", status: "SENT", integrationType: "CUSTOM", actionSuggestion: "RETRY", reasons: [] },
  ...{ idealRetryTime: at(IDEAL), decidedAt: START, executedAt: null, attemptedAt: null },
  ...{ createdAt: START, updatedAt: START, firstAttemptAt: START, delivery: "delivered" },
  ...overrides,
});
const buildAttempt = (overrides: Partial<TransactionFacts> = {}): TransactionFacts => ({
  ...{ id: "txn_1", state: "FAILED", invoiceId: "inv_1", amount: 4900, currency: "EUR" },
  ...{ createdAt: at(IDEAL), updatedAt: at(IDEAL), ...overrides },
});
const buildFacts = (overrides: Partial<PaymentFacts> = {}): PaymentFacts => ({
  ...{ paidAt: null, unpaidAt: null, paidInFull: () => false, transactions: [], ended: false },
  ...overrides,
});
const BY_ACTION = { recoveryActionId: "action_1" };
const WAITING = { status: "SCHEDULED", delivery: "waiting", firstAttemptAt: null } as const;
const EXHAUSTED = { status: "DELIVERY_FAILED", delivery: "exhausted" } as const;

const outcome = (given: Partial<DeliveredAction>, known: Partial<PaymentFacts> = {}, nowMs = 2 * HOUR) =>
  outcomeOf(buildAction(given), buildFacts(known), null, at(nowMs));
const status = (...given: Parameters<typeof outcome>) => outcome(...given).status;

for (const type of ["RETRY", "CARD_CHANGE"] as const) {
  const deadline = IDEAL + (type === "RETRY" ? 48 * HOUR : 7 * DAY);
  suite(`a ${type} without any report of a payment`, () => {
    test("waits for its delivery until its deadline, or until the case ends", () => {
      assert.equal(status({ type, ...WAITING }, {}, deadline - 1), "SCHEDULED");
      assert.equal(status({ type, ...WAITING }, {}, deadline), "CANCELED");
      assert.equal(status({ type, ...WAITING }, { ended: true }), "CANCELED");
    });

    test("waits for its outcome from its delivery to its deadline", () => {
      assert.equal(status({ type, status: "SCHEDULED" }, { ended: true }, deadline - 1), "SENT");
      assert.equal(status({ type, status: "SCHEDULED" }, {}, deadline), "EXPIRED");
    });

    test("ends with its delivery, and again if a replay is not taken in time", () => {
      assert.equal(status({ type, delivery: "exhausted" }), "DELIVERY_FAILED");
      assert.equal(status({ type, ...EXHAUSTED }, { ended: true }, deadline), "DELIVERY_FAILED");
      assert.equal(status({ type, delivery: "withdrawn" }), "CANCELED");
      const replayed = { ...EXHAUSTED, delivery: "waiting" } as const;
      assert.equal(status({ type, ...replayed }), "DELIVERY_FAILED");
      assert.equal(status({ type, ...replayed }, { ended: true }), "CANCELED");
      assert.equal(status({ type, ...replayed }, {}, deadline), "CANCELED");
      assert.equal(status({ type, ...EXHAUSTED, delivery: "delivered" }), "SENT");
    });

    test("keeps the end it has", () => {
      for (const kept of ["EXPIRED", "SUCCEEDED", "CANCELED"] as const)
        assert.equal(status({ type, status: kept }, { paidAt: null }), kept);
      assert.equal(status({ type, status: "CANCELED", delivery: "waiting" }, { paidAt: null }), "CANCELED");
    });
  });

  suite(`a ${type} with a payment`, () => {
    test("succeeds when an attempt names it, whatever its status", () => {
      const paid = buildAttempt({ ...BY_ACTION, state: "PAID", createdAt: at(-DAY) });
      for (const kept of ["SENT", "EXPIRED", "CANCELED", "DELIVERY_FAILED"] as const)
        assert.deepEqual(outcome({ type, status: kept, delivery: "exhausted" }, { transactions: [paid] }), {
          ...{ status: "SUCCEEDED", transaction: paid, attemptedAt: at(-DAY) },
        });
    });

    test("succeeds when the invoice is paid after its first delivery attempt, and is canceled before", () => {
      assert.deepEqual(outcome({ type }, { paidAt: START }), {
        ...{ status: "SUCCEEDED", transaction: null, attemptedAt: START },
      });
      assert.equal(status({ type }, { paidAt: at(-1) }), "CANCELED");
      assert.equal(status({ type, ...WAITING }, { paidAt: START }), "CANCELED");
    });
  });
}

suite("a retry with attempts", () => {
  const by = (overrides: Partial<TransactionFacts>, given: Partial<DeliveredAction> = {}) =>
    status(given, { transactions: [buildAttempt(overrides)] });

  test("fails when a decline names it, whatever its status", () => {
    for (const kept of ["SENT", "EXPIRED", "DELIVERY_FAILED"] as const)
      assert.equal(by(BY_ACTION, { status: kept }), "FAILED");
    assert.equal(by({ ...BY_ACTION, createdAt: at(-DAY) }, EXHAUSTED), "FAILED");
    assert.equal(by({ ...BY_ACTION, state: "PENDING" }), "SENT");
    assert.equal(by({ ...BY_ACTION, state: "VOIDED" }), "SENT");
  });

  test("includes an unnamed attempt by its time, unless the customer made it or the retry has ended", () => {
    assert.equal(by({}), "FAILED");
    assert.equal(by({ state: "REFUNDED" }), "SUCCEEDED");
    assert.equal(by({ initiator: "CUSTOMER" }), "SENT");
    assert.equal(by({ recoveryActionId: "action_2" }), "SENT");
    assert.equal(by({}, { status: "EXPIRED" }), "EXPIRED");
    assert.equal(by({}, EXHAUSTED), "DELIVERY_FAILED");
    assert.equal(by({}, { ...EXHAUSTED, delivery: "delivered" }), "FAILED");
    assert.equal(by({}, { firstAttemptAt: null }), "SENT");
  });

  test("includes no other attempts when some name it", () => {
    const transactions = [buildAttempt({ id: "txn_0", ...BY_ACTION }), buildAttempt({ state: "PAID" })];
    assert.equal(status({}, { transactions }), "FAILED");
  });

  test("takes the outcome of its approved attempt, else of its latest", () => {
    const declined = buildAttempt({ id: "txn_0" });
    const approved = buildAttempt({ state: "PAID" });
    const last = buildAttempt({ id: "txn_2", createdAt: at(2 * HOUR) });
    assert.equal(outcome({}, { transactions: [declined, approved, last] }).transaction, approved);
    assert.deepEqual(outcome({}, { transactions: [declined, last] }), {
      ...{ status: "FAILED", transaction: last, attemptedAt: at(2 * HOUR) },
    });
  });

  test("is canceled by a payment of the customer or another action, but reports its own decline first", () => {
    const known = (overrides: Partial<TransactionFacts>, more: Partial<TransactionFacts>[] = []) => ({
      paidAt: at(2 * HOUR),
      paidInFull: ({ id }: TransactionFacts) => id === "txn_1",
      transactions: [
        buildAttempt({ state: "PAID", ...overrides }),
        ...more.map((each) => buildAttempt({ id: "txn_2", ...each })),
      ],
    });
    const other = { recoveryActionId: "action_2" } as const;
    for (const by of [other, { initiator: "CUSTOMER" } as const]) {
      assert.equal(status({}, known(by)), "CANCELED");
      assert.equal(status({ status: "SUCCEEDED" }, known(by)), "CANCELED");
      assert.equal(status({ status: "FAILED" }, known(by)), "FAILED");
      assert.equal(status({}, known(by, [BY_ACTION])), "FAILED");
      assert.equal(status({}, { ...known(by), paidAt: null }), "SENT", "the invoice is not paid any more");
      assert.equal(status({}, { ...known(by), paidInFull: () => false }), "SUCCEEDED", "it was a part");
      assert.equal(status({}, known({ ...by, createdAt: at(IDEAL + 48 * HOUR) })), "CANCELED");
      assert.equal(status({}, known({ ...by, createdAt: at(IDEAL + 48 * HOUR + 1) })), "SUCCEEDED");
    }
    assert.equal(status({}, known({ initiator: "MERCHANT_MANUAL", createdAt: at(-HOUR) })), "SUCCEEDED");
  });

  test("fails when an unpaid version is dated from its ideal time on, and keeps a failure or success", () => {
    assert.equal(status({}, { unpaidAt: at(IDEAL) }), "FAILED");
    assert.equal(status({}, { unpaidAt: at(IDEAL - 1) }), "SENT");
    for (const kept of ["FAILED", "SUCCEEDED"] as const)
      assert.equal(status({ status: kept }, { paidAt: at(IDEAL + 48 * HOUR + 1) }), kept);
  });
});

suite("a pending debit", () => {
  const deadline = IDEAL + 48 * HOUR;
  const pending = (overrides: Partial<TransactionFacts> = {}) => ({
    transactions: [buildAttempt({ state: "PENDING", ...overrides })],
  });

  test("is awaited until fourteen days after the ideal time, if it may belong to the retry", () => {
    const last = IDEAL + 14 * DAY;
    assert.equal(status({}, pending(), last - 1), "SENT");
    assert.equal(status({}, pending(), last), "EXPIRED");
    assert.equal(status({}, pending({ createdAt: START }), deadline), "SENT");
    assert.equal(status({}, pending({ createdAt: at(-1) }), deadline), "EXPIRED");
    assert.equal(status({}, pending({ ...BY_ACTION, createdAt: at(-1) }), deadline), "SENT");
    assert.equal(status({}, pending({ recoveryActionId: "action_2" }), deadline), "EXPIRED");
    assert.equal(status({ firstAttemptAt: null }, pending(), deadline), "EXPIRED");
    assert.equal(status({}, pending({ state: "VOIDED" }), deadline), "EXPIRED");
  });

  test("schedules its outcome for the deadline first, and for that time next", () => {
    const due = (known: Partial<PaymentFacts>, nowMs: number, overrides: Partial<DeliveredAction> = {}) =>
      outcomeDueAt(buildAction(overrides), buildFacts(known), at(nowMs)).getTime() - START.getTime();
    assert.equal(due(pending(), deadline - 1), deadline);
    assert.equal(due(pending(), deadline), IDEAL + 14 * DAY);
    assert.equal(due({}, deadline), deadline);
    assert.equal(due({}, 0, { type: "CARD_CHANGE" }), IDEAL + 7 * DAY);
  });
});

test("an action is awaited while it is on its way or waits for its outcome", () => {
  const awaited = (overrides: Partial<DeliveredAction>) => isAwaited(buildAction(overrides));
  assert.equal(awaited({}), true);
  assert.equal(awaited(WAITING), true);
  assert.equal(awaited({ status: "SCHEDULED" }), true);
  assert.equal(awaited({ decidedAt: null }), false);
  assert.equal(awaited({ executedAt: START }), false);
  assert.equal(awaited(EXHAUSTED), false);
  for (const replayed of ["DELIVERY_FAILED", "EXPIRED", "CANCELED"] as const)
    assert.equal(awaited({ status: replayed, delivery: "waiting" }), replayed !== "CANCELED");
});

test("an action is stale when it was canceled or executed before its delivery", () => {
  const stale = (overrides: Partial<DeliveredAction>) => isStale(buildAction({ delivery: "waiting", ...overrides }));
  assert.deepEqual([stale({}), stale({ status: "CANCELED" }), stale({ executedAt: START })], [false, true, true]);
  assert.equal(stale({ delivery: "delivered", status: "CANCELED" }), false);
});

test("an attempt names the action that it executed, whether approved or declined", () => {
  const isNamedBy = (...transactions: TransactionFacts[]) => hasNamingAttempt(buildAction(), { transactions });
  assert.equal(isNamedBy(buildAttempt(), buildAttempt(BY_ACTION)), true);
  assert.equal(isNamedBy(buildAttempt({ ...BY_ACTION, state: "DISPUTED" })), true);
  assert.equal(isNamedBy(buildAttempt({ ...BY_ACTION, state: "PENDING" })), false);
  assert.equal(isNamedBy(buildAttempt({ recoveryActionId: "action_2" })), false);
});

test("an action recovers the case when it succeeded and the invoice was paid in full, by it or later", () => {
  const recovered = (kept: ActionStatus, transactionId: string | null, known: Partial<PaymentFacts>) =>
    recovers(buildAction({ status: kept, transactionId }), buildFacts(known));
  const part = { transactions: [buildAttempt({ id: "txn_0" }), buildAttempt()] };
  const whole = { ...part, paidInFull: ({ id }: TransactionFacts) => id === "txn_1" };
  assert.equal(recovered("SUCCEEDED", "txn_1", part), false);
  assert.equal(recovered("SUCCEEDED", "txn_1", whole), true);
  assert.equal(recovered("SUCCEEDED", "txn_0", whole), false);
  assert.equal(recovered("SUCCEEDED", "txn_1", { ...part, paidAt: START }), true);
  assert.equal(recovered("SUCCEEDED", null, {}), true);
  assert.equal(recovered("FAILED", "txn_1", { ...whole, paidAt: START }), false);
});
