import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import type { Balance } from "./balance.ts";
import { endOfCase } from "./ends.ts";
import type { LoadedCase } from "./loaded-case.ts";
import { buildInvoice, DAY, START } from "./stage.fixture.ts";

const UNPAID_BALANCE: Balance = { unpaidAmount: 4900, paidAt: null, conflict: null };
const NOW = new Date(START.getTime() + DAY);
const WINDOW_END = new Date(START.getTime() + 28 * DAY);

/** Returns why an open case ends. */
function endReasonOf(
  overrides: Partial<LoadedCase> & { invoiced?: Partial<Invoice> },
  balance = UNPAID_BALANCE,
  now = NOW,
) {
  const { invoiced = {}, ...rest } = overrides;
  const recoveryCase = { endedAt: null, endReason: null, paidAt: null, windowEndsAt: WINDOW_END };
  const view = { case: recoveryCase, invoice: buildInvoice(invoiced), subscription: null, ...rest } as LoadedCase;
  const { endedAt, endReason, paidAt } = endOfCase(view, balance, now);
  return endedAt === null ? null : [endReason, endedAt, paidAt];
}
const subscription = (state: string) => ({ subscription: { state } }) as Partial<LoadedCase>;

test("a case stays open until its window ends when money is owed", () => {
  assert.equal(endReasonOf({}), null);
  assert.equal(endReasonOf(subscription("PAST_DUE")), null);
  assert.equal(endReasonOf({}, UNPAID_BALANCE, new Date(WINDOW_END.getTime() - 1)), null);
  assert.deepEqual(endReasonOf({}, UNPAID_BALANCE, WINDOW_END), ["window_over", WINDOW_END, null]);
});

test("a case ends with the state of its invoice, and a payment has the version's date", () => {
  for (const [state, end] of [
    ["VOIDED", "voided"],
    ["UNCOLLECTIBLE", "uncollectible"],
    ["REFUNDED", "refunded"],
    ["DRAFT", "draft"],
  ] as const)
    assert.deepEqual(endReasonOf({ invoiced: { state } }), [end, NOW, null]);
  assert.deepEqual(endReasonOf({ invoiced: { state: "PAID" } }), ["paid", NOW, START]);
});

test("a case ends when nothing is left to pay, unless facts contradict each other", () => {
  assert.deepEqual(endReasonOf({}, { unpaidAmount: 0, paidAt: START, conflict: null }), ["paid", NOW, START]);
  assert.deepEqual(endReasonOf({}, { unpaidAmount: 0, paidAt: null, conflict: null }), ["settled", NOW, null]);
  const conflict = { kind: "paid_too_much", amount: 49, paid: 4900, currency: "EUR" } as const;
  assert.equal(endReasonOf({}, { unpaidAmount: 0, paidAt: START, conflict }), null);
});

test("a case ends when its subscription ends or a person stops it", () => {
  assert.deepEqual(endReasonOf(subscription("CANCELED")), ["subscription_canceled", NOW, null]);
  assert.deepEqual(endReasonOf(subscription("EXPIRED")), ["subscription_expired", NOW, null]);
  assert.deepEqual(endReasonOf({ isStopped: true }), ["stopped_by_hand", NOW, null]);
});

test("a case that has ended keeps its end", () => {
  const ended = { endedAt: START, endReason: "voided", paidAt: null, windowEndsAt: WINDOW_END } as LoadedCase["case"];
  assert.deepEqual(endReasonOf({ case: ended, invoiced: { state: "PAID" } }), ["voided", START, null]);
});
