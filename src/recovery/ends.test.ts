import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import type { Balance } from "./balance.ts";
import type { CaseView } from "./case-view.ts";
import { endOfCase } from "./ends.ts";
import { anInvoice, DAY, START } from "./stage.fixture.ts";

const OWED: Balance = { left: 4900, paidAt: null, conflict: null };
const NOW = new Date(START.getTime() + DAY);
const WINDOW_END = new Date(START.getTime() + 28 * DAY);

/** Why an open case ends. */
function reason(over: Partial<CaseView> & { invoiced?: Partial<Invoice> }, balance = OWED, now = NOW) {
  const { invoiced = {}, ...rest } = over;
  const kase = { endedAt: null, endReason: null, paidAt: null, windowEndsAt: WINDOW_END };
  const view = { case: kase, invoice: anInvoice(invoiced), subscription: null, ...rest } as CaseView;
  const { endedAt, endReason, paidAt } = endOfCase(view, balance, now);
  return endedAt === null ? null : [endReason, endedAt, paidAt];
}
const subscription = (state: string) => ({ subscription: { state } }) as Partial<CaseView>;

test("a case on which money is owed stays open until its window ends", () => {
  assert.equal(reason({}), null);
  assert.equal(reason(subscription("PAST_DUE")), null);
  assert.equal(reason({}, OWED, new Date(WINDOW_END.getTime() - 1)), null);
  assert.deepEqual(reason({}, OWED, WINDOW_END), ["window_over", WINDOW_END, null]);
});

test("a case ends with the state of its invoice, and a payment has the date of the version", () => {
  for (const [state, end] of [
    ["VOIDED", "voided"],
    ["UNCOLLECTIBLE", "uncollectible"],
    ["REFUNDED", "refunded"],
    ["DRAFT", "draft"],
  ] as const)
    assert.deepEqual(reason({ invoiced: { state } }), [end, NOW, null]);
  assert.deepEqual(reason({ invoiced: { state: "PAID" } }), ["paid", NOW, START]);
});

test("a case ends when nothing is left to pay, and not while facts contradict each other", () => {
  assert.deepEqual(reason({}, { left: 0, paidAt: START, conflict: null }), ["paid", NOW, START]);
  assert.deepEqual(reason({}, { left: 0, paidAt: null, conflict: null }), ["settled", NOW, null]);
  const conflict = { kind: "paid_too_much", amount: 49, paid: 4900, currency: "EUR" } as const;
  assert.equal(reason({}, { left: 0, paidAt: START, conflict }), null);
});

test("a case ends with its subscription, or because a person said so", () => {
  assert.deepEqual(reason(subscription("CANCELED")), ["subscription_canceled", NOW, null]);
  assert.deepEqual(reason(subscription("EXPIRED")), ["subscription_expired", NOW, null]);
  assert.deepEqual(reason({ isStopped: true }), ["stopped_by_hand", NOW, null]);
});

test("a case that has ended keeps its end", () => {
  const ended = { endedAt: START, endReason: "voided", paidAt: null, windowEndsAt: WINDOW_END } as CaseView["case"];
  assert.deepEqual(reason({ case: ended, invoiced: { state: "PAID" } }), ["voided", START, null]);
});
