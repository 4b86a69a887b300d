import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { EndReason } from "../domain/case.ts";
import type { ReviewedCase } from "../tables/cases.ts";
import type { StoredInvoice } from "../tables/invoices.ts";
import type { InvoiceAttempt } from "../tables/transactions.ts";
import type { Balance } from "./balance.ts";
import {
  findEndedByBalance,
  findOwedInvoices,
  type InvoiceReview,
  listConflicts,
  listWaitingCases,
} from "./review-invoices.ts";
import { buildInvoice, DAY, HOUR, START } from "./stage.fixture.ts";

const WINDOW_DAYS = 28;
const WINDOW_MS = WINDOW_DAYS * DAY;
const at = (ms: number) => new Date(START.getTime() + ms);
const CONFLICT = { kind: "paid_too_much", amount: 49, paid: 4900, currency: "EUR" } as const;

const buildCase = (overrides: Partial<ReviewedCase> = {}): ReviewedCase => ({
  ...{ id: "case_1", invoiceId: "inv_1", unpaidAt: START, endedAt: null, endReason: null },
  ...overrides,
});
const buildEndedCase = (endReason: EndReason, overrides: Partial<ReviewedCase> = {}) =>
  buildCase({ endReason, endedAt: at(HOUR), ...overrides });
const buildAttempt = (
  state: InvoiceAttempt["state"],
  ms: number,
  overrides: Partial<InvoiceAttempt> = {},
): InvoiceAttempt => ({
  ...{ id: "txn_1", invoiceId: "inv_1", state, amount: 4900, currency: "EUR" },
  ...{ createdAt: at(ms), updatedAt: at(ms), ...overrides },
});
interface ReviewOverrides {
  invoice?: Partial<StoredInvoice>;
  balance?: Partial<Balance>;
  cases?: ReviewedCase[];
  attempts?: InvoiceAttempt[];
}
const buildReview = ({ invoice = {}, balance = {}, cases = [], attempts = [] }: ReviewOverrides): InvoiceReview => ({
  invoice: buildInvoice(invoice),
  balance: { unpaidAmount: 4900, paidAt: null, conflict: null, ...balance },
  cases,
  attempts,
});

suite("cases ended by their balance", () => {
  const endsOf = (...given: ReviewOverrides[]) => findEndedByBalance(given.map(buildReview));
  const ending = { amount: null, currency: null };

  test("are the open and ended ones of an invoice with nothing left, ordered by id", () => {
    const paid = { unpaidAmount: 0, paidAt: at(HOUR) };
    assert.deepEqual(
      endsOf(
        { balance: { unpaidAmount: 0 }, cases: [buildCase({ id: "c" })] },
        { balance: paid, cases: [buildCase({ id: "d" }), buildEndedCase("voided", { id: "a" })] },
        { balance: paid, cases: [buildCase({ id: "b" })] },
      ),
      [
        { id: "a", endReason: "paid", paidAt: at(HOUR), ...ending },
        { id: "b", endReason: "paid", paidAt: at(HOUR), ...ending },
        { id: "c", endReason: "settled", paidAt: null, ...ending },
        { id: "d", endReason: "paid", paidAt: at(HOUR), ...ending },
      ],
    );
  });

  test("exclude a case while something is left or facts contradict each other", () => {
    assert.deepEqual(endsOf({ balance: { unpaidAmount: 1 }, cases: [buildCase()] }), []);
    assert.deepEqual(endsOf({ balance: { unpaidAmount: 0, conflict: CONFLICT }, cases: [buildCase()] }), []);
  });
});

test("a conflict is recorded, and the invoice's open cases wait, when facts contradict each other", () => {
  const all = [
    buildReview({ balance: { conflict: CONFLICT }, cases: [buildEndedCase("voided", { id: "case_0" }), buildCase()] }),
    buildReview({ invoice: { id: "inv_2" }, cases: [buildCase({ id: "case_2" })] }),
  ];
  const facts = { amount: 49, paid: 4900, currency: "EUR" };
  assert.deepEqual(listConflicts(all, at(DAY)), [
    { invoiceId: "inv_1", kind: "paid_too_much", facts, foundAt: at(DAY) },
  ]);
  assert.deepEqual(listWaitingCases(all), ["case_1"]);
});

suite("an owed invoice", () => {
  const owed = (given: ReviewOverrides, nowMs = DAY, broughtBy: string[] | null = null) =>
    findOwedInvoices([buildReview(given)], () => WINDOW_DAYS, at(nowMs), broughtBy && new Set(broughtBy)).map(
      ({ unpaidAmount, unpaidAt }) => [unpaidAmount, unpaidAt.getTime() - START.getTime()],
    );

  test("owes the balance from the time it became unpaid", () => {
    assert.deepEqual(owed({ balance: { unpaidAmount: 900 } }), [[900, 0]]);
    assert.deepEqual(owed({ invoice: { unpaidSince: at(-HOUR) } }), [[4900, -HOUR]]);
    assert.deepEqual(owed({ balance: { unpaidAmount: 0 } }), []);
    assert.deepEqual(owed({ balance: { conflict: CONFLICT } }), []);
  });

  test("has one case with its full amount when it was paid before it was seen unpaid", () => {
    const balance = { unpaidAmount: 0, paidAt: at(HOUR) };
    assert.deepEqual(owed({ balance }), [[4900, 0]]);
    assert.deepEqual(owed({ balance, cases: [buildEndedCase("paid")] }), []);
    assert.deepEqual(owed({ balance: { ...balance, conflict: CONFLICT } }), []);
  });

  test("keeps the unpaid time of its open case, even when the window is over", () => {
    const cases = [buildEndedCase("paid", { id: "case_0" }), buildCase({ unpaidAt: at(-WINDOW_MS) })];
    assert.deepEqual(owed({ cases }), [[4900, -WINDOW_MS]]);
  });

  test("opens no case when the window is over, unless an attempt was made within it", () => {
    assert.deepEqual(owed({}, WINDOW_MS - 1), [[4900, 0]]);
    assert.deepEqual(owed({}, WINDOW_MS), []);
    assert.deepEqual(owed({ invoice: { updatedAt: at(DAY), unpaidSince: START } }, WINDOW_MS), []);
    const attempts = [buildAttempt("FAILED", 2 * DAY), buildAttempt("FAILED", DAY), buildAttempt("FAILED", 0)];
    assert.deepEqual(owed({ attempts }, WINDOW_MS), [[4900, 2 * DAY]]);
    assert.deepEqual(owed({ attempts }, WINDOW_MS + 2 * DAY), []);
    const late = [buildAttempt("FAILED", 0, { updatedAt: at(2 * DAY) })];
    assert.deepEqual(owed({ attempts: late }, WINDOW_MS), [], "it counts from when it was made");
  });

  test("has a new window from the date of a newer version after a payment", () => {
    for (const reason of ["paid", "settled"] as const) {
      const again = { invoice: { updatedAt: at(3 * DAY), unpaidSince: START }, cases: [buildEndedCase(reason)] };
      assert.deepEqual(owed(again, 4 * DAY), [[4900, 3 * DAY]], reason);
      assert.deepEqual(owed(again, 3 * DAY + WINDOW_MS - 1), [[4900, 3 * DAY]]);
      assert.deepEqual(owed(again, 3 * DAY + WINDOW_MS), []);
    }
  });

  test("is unpaid since its first version after any other end, and after it left recovery", () => {
    const invoice = { updatedAt: at(3 * DAY), unpaidSince: START };
    assert.deepEqual(owed({ invoice, cases: [buildEndedCase("subscription_canceled")] }, 4 * DAY), [[4900, 0]]);
    assert.deepEqual(owed({ invoice, cases: [buildEndedCase("paid", { unpaidAt: at(-1) })] }, 4 * DAY), [[4900, 0]]);
    assert.deepEqual(
      owed({ invoice, cases: [buildEndedCase("paid", { id: "case_0" }), buildEndedCase("voided")] }, 4 * DAY),
      [[4900, 0]],
      "the last case tells",
    );
  });

  test("opens a case by an attempt after a payment only if it failed, was voided or disputed, from that time on", () => {
    const invoice = { updatedAt: at(2 * DAY) };
    const cases = [buildEndedCase("paid", { unpaidAt: at(3 * DAY) })];
    const by = (attempts: InvoiceAttempt[], ids = ["txn_1"], nowMs = 9 * DAY) =>
      owed({ invoice, cases, attempts }, nowMs, ids);
    for (const state of ["FAILED", "VOIDED", "DISPUTED"] as const)
      assert.deepEqual(by([buildAttempt(state, 4 * DAY, { updatedAt: at(5 * DAY) })]), [[4900, 5 * DAY]], state);
    for (const state of ["PAID", "PENDING", "REFUNDED"] as const)
      assert.deepEqual(by([buildAttempt(state, 4 * DAY)]), [], state);
    assert.deepEqual(by([buildAttempt("FAILED", 4 * DAY)], ["txn_2"]), [], "it was known before");
    const two = [buildAttempt("FAILED", 6 * DAY), buildAttempt("DISPUTED", 4 * DAY, { id: "txn_2" })];
    assert.deepEqual(by(two, ["txn_1", "txn_2"]), [[4900, 6 * DAY]]);
    assert.deepEqual(by(two, ["txn_2"]), [[4900, 4 * DAY]]);
    assert.deepEqual(by(two, ["txn_2"], 4 * DAY + WINDOW_MS), []);
  });
});
