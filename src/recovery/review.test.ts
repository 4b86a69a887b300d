import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { EndReason } from "../domain/case.ts";
import type { KnownCase } from "../store/cases.ts";
import type { StoredInvoice } from "../store/invoices.ts";
import type { Attempt } from "../store/transactions.ts";
import type { Balance } from "./balance.ts";
import { conflictsIn, endedByBalance, owedIn, type Reviewed, waitingCases } from "./review.ts";
import { anInvoice, DAY, HOUR, START } from "./stage.fixture.ts";

const WINDOW_DAYS = 28;
const WINDOW = WINDOW_DAYS * DAY;
const at = (ms: number) => new Date(START.getTime() + ms);
const CONFLICT = { kind: "paid_too_much", amount: 49, paid: 4900, currency: "EUR" } as const;

const caseWith = (over: Partial<KnownCase> = {}): KnownCase => ({
  ...{ id: "case_1", invoiceId: "inv_1", unpaidAt: START, endedAt: null, endReason: null },
  ...over,
});
const ended = (endReason: EndReason, over: Partial<KnownCase> = {}) =>
  caseWith({ endReason, endedAt: at(HOUR), ...over });
const attempt = (state: Attempt["state"], ms: number, over: Partial<Attempt> = {}): Attempt => ({
  ...{ id: "txn_1", invoiceId: "inv_1", state, amount: 4900, currency: "EUR" },
  ...{ createdAt: at(ms), updatedAt: at(ms), ...over },
});
interface Given {
  invoice?: Partial<StoredInvoice>;
  balance?: Partial<Balance>;
  cases?: KnownCase[];
  attempts?: Attempt[];
}
const reviewed = ({ invoice = {}, balance = {}, cases = [], attempts = [] }: Given): Reviewed => ({
  invoice: anInvoice(invoice),
  balance: { left: 4900, paidAt: null, conflict: null, ...balance },
  cases,
  attempts,
});

suite("cases that end because nothing is owed", () => {
  const endsOf = (...given: Given[]) => endedByBalance(given.map(reviewed));
  const ending = { amount: null, currency: null };

  test("they are those of an invoice on which nothing is left, open and ended, by their ids", () => {
    const paid = { left: 0, paidAt: at(HOUR) };
    assert.deepEqual(
      endsOf(
        { balance: { left: 0 }, cases: [caseWith({ id: "c" })] },
        { balance: paid, cases: [caseWith({ id: "d" }), ended("voided", { id: "a" })] },
        { balance: paid, cases: [caseWith({ id: "b" })] },
      ),
      [
        { id: "a", endReason: "paid", paidAt: at(HOUR), ...ending },
        { id: "b", endReason: "paid", paidAt: at(HOUR), ...ending },
        { id: "c", endReason: "settled", paidAt: null, ...ending },
        { id: "d", endReason: "paid", paidAt: at(HOUR), ...ending },
      ],
    );
  });

  test("a case goes on while something is left, or while facts contradict each other", () => {
    assert.deepEqual(endsOf({ balance: { left: 1 }, cases: [caseWith()] }), []);
    assert.deepEqual(endsOf({ balance: { left: 0, conflict: CONFLICT }, cases: [caseWith()] }), []);
  });
});

test("facts that contradict each other are noted, and the open cases of their invoice wait", () => {
  const all = [
    reviewed({ balance: { conflict: CONFLICT }, cases: [ended("voided", { id: "case_0" }), caseWith()] }),
    reviewed({ invoice: { id: "inv_2" }, cases: [caseWith({ id: "case_2" })] }),
  ];
  const facts = { amount: 49, paid: 4900, currency: "EUR" };
  assert.deepEqual(conflictsIn(all, at(DAY)), [{ invoiceId: "inv_1", kind: "paid_too_much", facts, foundAt: at(DAY) }]);
  assert.deepEqual(waitingCases(all), ["case_1"]);
});

suite("what is owed", () => {
  const owed = (given: Given, nowMs = DAY, broughtBy: string[] | null = null) =>
    owedIn([reviewed(given)], WINDOW_DAYS, at(nowMs), broughtBy && new Set(broughtBy)).map(({ left, unpaidAt }) => [
      left,
      unpaidAt.getTime() - START.getTime(),
    ]);

  test("it is what is left, since the invoice is unpaid", () => {
    assert.deepEqual(owed({ balance: { left: 900 } }), [[900, 0]]);
    assert.deepEqual(owed({ invoice: { unpaidSince: at(-HOUR) } }), [[4900, -HOUR]]);
    assert.deepEqual(owed({ balance: { left: 0 } }), []);
    assert.deepEqual(owed({ balance: { conflict: CONFLICT } }), []);
  });

  test("an invoice that was paid before it was seen unpaid has a case of all it asked for, and only one", () => {
    const balance = { left: 0, paidAt: at(HOUR) };
    assert.deepEqual(owed({ balance }), [[4900, 0]]);
    assert.deepEqual(owed({ balance, cases: [ended("paid")] }), []);
    assert.deepEqual(owed({ balance: { ...balance, conflict: CONFLICT } }), []);
  });

  test("an open case keeps the time from which it was unpaid, also when its window is over", () => {
    const cases = [ended("paid", { id: "case_0" }), caseWith({ unpaidAt: at(-WINDOW) })];
    assert.deepEqual(owed({ cases }), [[4900, -WINDOW]]);
  });

  test("no case opens once the window is over, unless the invoice was attempted within it", () => {
    assert.deepEqual(owed({}, WINDOW - 1), [[4900, 0]]);
    assert.deepEqual(owed({}, WINDOW), []);
    assert.deepEqual(owed({ invoice: { updatedAt: at(DAY), unpaidSince: START } }, WINDOW), []);
    const attempts = [attempt("FAILED", 2 * DAY), attempt("FAILED", DAY), attempt("FAILED", 0)];
    assert.deepEqual(owed({ attempts }, WINDOW), [[4900, 2 * DAY]]);
    assert.deepEqual(owed({ attempts }, WINDOW + 2 * DAY), []);
    const late = [attempt("FAILED", 0, { updatedAt: at(2 * DAY) })];
    assert.deepEqual(owed({ attempts: late }, WINDOW), [], "it counts from when it was made");
  });

  test("after a payment a newer version begins a window of its own, from its date", () => {
    for (const reason of ["paid", "settled"] as const) {
      const again = { invoice: { updatedAt: at(3 * DAY), unpaidSince: START }, cases: [ended(reason)] };
      assert.deepEqual(owed(again, 4 * DAY), [[4900, 3 * DAY]], reason);
      assert.deepEqual(owed(again, 3 * DAY + WINDOW - 1), [[4900, 3 * DAY]]);
      assert.deepEqual(owed(again, 3 * DAY + WINDOW), []);
    }
  });

  test("after any other end, and once the invoice was out of recovery, it is unpaid since its first version", () => {
    const invoice = { updatedAt: at(3 * DAY), unpaidSince: START };
    assert.deepEqual(owed({ invoice, cases: [ended("subscription_canceled")] }, 4 * DAY), [[4900, 0]]);
    assert.deepEqual(owed({ invoice, cases: [ended("paid", { unpaidAt: at(-1) })] }, 4 * DAY), [[4900, 0]]);
    assert.deepEqual(
      owed({ invoice, cases: [ended("paid", { id: "case_0" }), ended("voided")] }, 4 * DAY),
      [[4900, 0]],
      "the last case tells",
    );
  });

  test("after a payment an attempt opens a case only if it failed, was voided or disputed, and from the time it did", () => {
    const invoice = { updatedAt: at(2 * DAY) };
    const cases = [ended("paid", { unpaidAt: at(3 * DAY) })];
    const by = (attempts: Attempt[], ids = ["txn_1"], nowMs = 9 * DAY) =>
      owed({ invoice, cases, attempts }, nowMs, ids);
    for (const state of ["FAILED", "VOIDED", "DISPUTED"] as const)
      assert.deepEqual(by([attempt(state, 4 * DAY, { updatedAt: at(5 * DAY) })]), [[4900, 5 * DAY]], state);
    for (const state of ["PAID", "PENDING", "REFUNDED"] as const)
      assert.deepEqual(by([attempt(state, 4 * DAY)]), [], state);
    assert.deepEqual(by([attempt("FAILED", 4 * DAY)], ["txn_2"]), [], "it was known before");
    const two = [attempt("FAILED", 6 * DAY), attempt("DISPUTED", 4 * DAY, { id: "txn_2" })];
    assert.deepEqual(by(two, ["txn_1", "txn_2"]), [[4900, 6 * DAY]]);
    assert.deepEqual(by(two, ["txn_2"]), [[4900, 4 * DAY]]);
    assert.deepEqual(by(two, ["txn_2"], 4 * DAY + WINDOW), []);
  });
});
