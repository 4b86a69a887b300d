import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SubscriptionFacts } from "../tables/subscriptions.ts";
import { DAY, HOUR, START } from "./stage.fixture.ts";
import {
  at,
  buildAction,
  buildAttempt,
  PLAN,
  stepAt,
  UNDELIVERED,
  type ViewOverrides,
  WINDOW_MS,
} from "./step.fixture.ts";

const BY_ACTION = { recoveryActionId: "action_1" };
const CANCELED = { subscription: { state: "CANCELED" } as SubscriptionFacts };
const EXPIRES = at(DAY + 48 * HOUR);

suite("the end of a case", () => {
  test("cancels its plan, and withdraws undelivered events", () => {
    const undelivered = { ...UNDELIVERED, id: "action_2", type: "CARD_CHANGE" } as const;
    const { state, updated, withdrawn, endsNow, decision } = stepAt(WINDOW_MS, { actions: [PLAN, undelivered] });
    assert.deepEqual([state.endReason, state.endedAt, state.dueAt], ["window_over", at(WINDOW_MS), null]);
    assert.deepEqual(
      updated.map(({ id, status, updatedAt }) => [id, status, updatedAt]),
      [
        ["action_1", "CANCELED", at(WINDOW_MS)],
        ["action_2", "CANCELED", at(WINDOW_MS)],
      ],
    );
    assert.deepEqual([withdrawn, endsNow, decision], [["action_2"], true, null]);
  });

  test("leaves delivered actions awaited", () => {
    const early = buildAction({ id: "action_0", type: "CARD_CHANGE" });
    const { state, updated, withdrawn } = stepAt(DAY, { ...CANCELED, actions: [early, buildAction()] });
    assert.deepEqual([state.dueAt, updated, withdrawn], [EXPIRES, [], []]);
  });

  test("is sent to the merchant once when Dunlin decides it, and not when the case ends by itself", () => {
    const types = (given: ViewOverrides, nowMs = DAY) => stepAt(nowMs, given).events.map(({ type }) => type);
    assert.deepEqual(types(CANCELED), ["complete_dunning"]);
    assert.deepEqual(types({ ...CANCELED, sentOnceEvents: { completeDunning: true } }), []);
    assert.deepEqual(types({ ...CANCELED, merchant: { webhookUrl: null } }), []);
    for (const arm of ["merchant", "shadow"] as const) assert.deepEqual(types({ ...CANCELED, case: { arm } }), []);
    assert.deepEqual(types({ case: { endedAt: START, endReason: "subscription_canceled" } }), []);
    assert.deepEqual(types({}, WINDOW_MS), []);
    assert.deepEqual(types({ invoice: { state: "PAID" } }), []);
    assert.deepEqual(types({ case: { budget: 0 } }), ["complete_dunning"]);
  });

  test("happens once, and the case is stepped again for awaited outcomes", () => {
    const ended = { case: { endedAt: START, endReason: "voided" } } as const;
    const { state, endsNow, conflict } = stepAt(DAY, { ...ended, actions: [buildAction()] });
    assert.deepEqual([state.endedAt, state.endReason, state.dueAt, endsNow], [START, "voided", EXPIRES, false]);
    assert.equal(conflict, undefined);
  });

  test("sends the case, its invoice and the time", () => {
    const [event] = stepAt(DAY, CANCELED).events;
    assert.deepEqual(
      { ...event, body: JSON.parse(event!.body) },
      {
        ...{ id: "new_1", caseId: "case_1", invoiceId: "inv_1", type: "complete_dunning", createdAt: at(DAY) },
        body: { id: "new_1", type: "complete_dunning", created: at(DAY).toISOString(), data: { invoiceId: "inv_1" } },
      },
    );
  });
});

suite("an action", () => {
  const settled = (given: ViewOverrides, nowMs = 2 * DAY) =>
    stepAt(nowMs, given).updated.find(({ id }) => id === "action_1");

  test("is settled by an attempt, with its card and its time", () => {
    const { status, transactionId, attemptedAt, executedAt, updatedAt, cardCountry, paymentMethodType } = settled({
      actions: [buildAction()],
      transactions: [
        buildAttempt(),
        buildAttempt({ id: "txn_2", invoiceId: "inv_2", cardCountry: "US", createdAt: at(DAY + 1) }),
      ],
    })!;
    assert.deepEqual([status, transactionId, attemptedAt], ["FAILED", "txn_1", at(DAY)]);
    assert.deepEqual([executedAt, updatedAt], [at(2 * DAY), at(2 * DAY)]);
    assert.deepEqual([cardCountry, paymentMethodType], ["DE", "card"]);
  });

  test("is not written while nothing about it changes", () => {
    const failed = buildAction({ status: "FAILED", transactionId: "txn_1", executedAt: at(DAY), attemptedAt: at(DAY) });
    assert.equal(settled({ actions: [failed], transactions: [buildAttempt()] }), undefined);
    assert.equal(settled({ actions: [buildAction()] }), undefined);
  });

  test("keeps its execution time when another attempt proves to be its own", () => {
    const failed = buildAction({ status: "FAILED", transactionId: "txn_0", executedAt: at(DAY), attemptedAt: START });
    const { transactionId, executedAt, attemptedAt } = settled({ actions: [failed], transactions: [buildAttempt()] })!;
    assert.deepEqual([transactionId, executedAt, attemptedAt], ["txn_1", at(DAY), at(DAY)]);
  });

  test("has no execution time when it proves to be canceled", () => {
    const succeeded = buildAction({ status: "SUCCEEDED", executedAt: at(DAY), attemptedAt: at(DAY) });
    const { status, executedAt, attemptedAt } = settled({
      actions: [succeeded],
      transactions: [buildAttempt({ state: "PAID", initiator: "CUSTOMER" })],
    })!;
    assert.deepEqual([status, executedAt, attemptedAt], ["CANCELED", null, null]);
  });

  test("is decided and executed when an attempt names its plan, and no other attempt settles a plan", () => {
    const { status, decidedAt } = settled({ actions: [PLAN], transactions: [buildAttempt(BY_ACTION)] })!;
    assert.deepEqual([status, decidedAt], ["FAILED", at(2 * DAY)]);
    const planned = (given: ViewOverrides) => stepAt(2 * DAY, { actions: [PLAN], ...given }).updated[0]?.status;
    assert.equal(planned({ transactions: [buildAttempt()] }), "SCHEDULED");
    assert.equal(planned({ invoice: { updatedAt: at(3 * DAY) } }), "SCHEDULED");
    const change = { ...PLAN, type: "CARD_CHANGE" } as const;
    assert.notEqual(planned({ actions: [change], transactions: [buildAttempt(BY_ACTION)] }), "SENT");
    const decided = settled({ actions: [buildAction()], transactions: [buildAttempt(BY_ACTION)] })!;
    assert.deepEqual(decided.decidedAt, at(DAY));
  });

  test("receives an attempt from the next retry's first delivery on, and a card change in between sets no bound", () => {
    const expired = (next: object) =>
      stepAt(4 * DAY, {
        actions: [
          buildAction(),
          buildAction({ id: "action_2", idealRetryTime: at(2 * DAY), firstAttemptAt: at(2 * DAY), ...next }),
        ],
        transactions: [buildAttempt({ createdAt: at(2 * DAY), updatedAt: at(2 * DAY) })],
      }).updated.map(({ id, status }) => [id, status]);
    assert.deepEqual(expired({}).slice(0, 2), [
      ["action_1", "EXPIRED"],
      ["action_2", "FAILED"],
    ]);
    assert.deepEqual(expired({ type: "CARD_CHANGE" })[0], ["action_1", "FAILED"]);
    assert.deepEqual(expired({ firstAttemptAt: null, delivery: "exhausted" })[0], ["action_1", "FAILED"]);
  });

  test("is withdrawn when it was executed while its webhook is on its way", () => {
    const { withdrawn } = stepAt(DAY, { actions: [UNDELIVERED], transactions: [buildAttempt(BY_ACTION)] });
    assert.deepEqual(withdrawn, ["action_1"]);
  });

  test("recovers the case when it brought the payment", () => {
    const succeeded = buildAction({ id: "action_0" });
    const paid = buildAttempt({ state: "PAID", recoveryActionId: "action_0" });
    const isRecovered = (given: ViewOverrides) => stepAt(2 * DAY, given).state.recovered;
    assert.equal(isRecovered({ actions: [succeeded, buildAction()], transactions: [paid] }), true);
    assert.equal(isRecovered({ actions: [buildAction()], transactions: [buildAttempt(BY_ACTION)] }), false);
    assert.equal(isRecovered({ transactions: [paid] }), false);
  });
});

suite("contradictory facts", () => {
  const overpayment = [buildAttempt({ state: "PAID", amount: 490_000 })];
  const stored = { invoiceId: "inv_1", kind: "paid_too_much", foundAt: START } as const;
  const facts = { amount: 4900, paid: 490_000, currency: "EUR" };
  const conflictOf = (given: ViewOverrides) => stepAt(2 * DAY, given).conflict;

  test("are reported when they change", () => {
    const conflict = { kind: "paid_too_much", ...facts };
    assert.deepEqual(conflictOf({ transactions: overpayment }), conflict);
    assert.equal(conflictOf({ transactions: overpayment, storedConflict: { ...stored, facts } }), undefined);
    assert.deepEqual(conflictOf({ transactions: overpayment, storedConflict: { ...stored, facts: {} } }), conflict);
    const other = { ...stored, kind: "two_currencies", facts } as const;
    assert.deepEqual(conflictOf({ transactions: overpayment, storedConflict: other }), conflict);
    assert.equal(conflictOf({ storedConflict: { ...stored, facts } }), null);
    assert.equal(conflictOf({}), undefined);
  });

  test("stop all planning, and withdraw undelivered retries", () => {
    const change = { ...UNDELIVERED, id: "action_2", type: "CARD_CHANGE" } as const;
    const plan = { ...PLAN, id: "action_3" };
    const { updated, inserted, withdrawn, decision } = stepAt(2 * DAY, {
      actions: [UNDELIVERED, change, plan],
      transactions: overpayment,
    });
    assert.deepEqual(
      updated.map(({ id, status }) => [id, status]),
      [
        ["action_1", "CANCELED"],
        ["action_3", "CANCELED"],
      ],
    );
    assert.deepEqual([inserted, withdrawn, decision], [[], ["action_1"], null]);
    const { state } = stepAt(2 * DAY, { actions: [change], transactions: overpayment });
    assert.deepEqual([state.endedAt, state.dueAt], [null, at(DAY + 7 * DAY)]);
    assert.deepEqual(stepAt(2 * DAY, { transactions: overpayment }).state.dueAt, at(WINDOW_MS));
  });
});
