import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../domain/durations.ts";
import { buildDecisionFacts } from "./build-decision-facts.ts";
import { buildHistory } from "./build-history.ts";
import type { LoadedCase } from "./loaded-case.ts";

const unpaidAt = new Date("2026-03-02T10:00:00Z");
const cardChangedAt = new Date("2026-03-05T10:00:00Z");
/** An unpaid invoice without reported attempts. */
const view = {
  case: { id: "case_1", customerId: "cus_1", unpaidAt, windowEndsAt: unpaidAt, budget: 8 },
  merchant: { leadMs: 0 },
  invoice: { id: "inv_1", amount: 4900, currency: "EUR" },
  subscription: null,
  transactions: [],
  customerInvoices: [],
  actions: [],
  pendingRequests: [],
  issuerDownAt: null,
  blockingAttempts: [],
  disputed: [],
  storedConflict: null,
} as unknown as LoadedCase;

test("an unreported first charge is dated to when the invoice became unpaid, and a new card is a presumed charge", () => {
  const known = buildDecisionFacts(view, []);
  assert.deepEqual(buildHistory(view, known, []).invoices.at(-1)!.charges, [
    { at: unpaidAt, approved: false, codes: null },
  ]);
  const changed = buildHistory(view, { ...known, cardChangedAt }, []);
  assert.deepEqual(changed.invoices.at(-1)!.charges, [
    { at: cardChangedAt, approved: false, codes: null, isPresumed: true },
  ]);
});

test("an earlier invoice counts as declined at first when it failed before the attempts that are read", () => {
  const day = (n: number, extraMs = 0) => new Date(+unpaidAt + n * DAY_MS + extraMs);
  const invoice = {
    id: "inv_0",
    customerId: "cus_1",
    amount: 900,
    currency: "EUR",
    state: "PAID",
    createdAt: day(-185),
  };
  const attempt = { id: "t", invoiceId: "inv_0", customerId: "cus_1", amount: 900, currency: "EUR" };
  const chargesOf = (failedAt: Date, ...attempts: [at: Date, state: string][]) => {
    const transactions = attempts.map(([createdAt, state]) => ({ ...attempt, state, createdAt }));
    const customerInvoices = [{ ...invoice, subscriptionId: null, unpaidAt: failedAt, paidAt: day(-170) }];
    const loaded = { ...view, customerInvoices, transactions } as unknown as LoadedCase;
    const [earlier] = buildHistory(loaded, buildDecisionFacts(loaded, []), []).invoices;
    return earlier!.charges.map(({ at, approved }) => [+at, approved]);
  };
  const missingAttempt = [+day(-185), false];
  assert.deepEqual(chargesOf(day(-185), [day(-179), "PAID"]), [missingAttempt, [+day(-179), true]]);
  const failedAgain = chargesOf(day(-185), [day(-179), "FAILED"], [day(-170), "PAID"]);
  assert.deepEqual(failedAgain, [missingAttempt, [+day(-179), false], [+day(-170), true]]);
  // Reported as unpaid first, then charged.
  assert.deepEqual(chargesOf(day(-20), [day(-20, 5_000), "PAID"]), [[+day(-20, 5_000), true]]);
  const charged = chargesOf(day(-20), [day(-20, 5_000), "FAILED"], [day(-19), "PAID"]);
  assert.deepEqual(charged, [
    [+day(-20, 5_000), false],
    [+day(-19), true],
  ]);
});

test("invoices known from attempts alone count since the last attempt, and only for the same customer", () => {
  const attempt = (id: string, day: number, overrides: object = {}) => ({
    id,
    invoiceId: `of_${id}`,
    customerId: "cus_1",
    amount: 900,
    currency: "EUR",
    state: "PAID",
    createdAt: new Date(+unpaidAt + day * DAY_MS),
    cardFingerprint: "fp_1",
    ...overrides,
  });
  const own = { invoiceId: "inv_1", state: "FAILED", amount: 4900 };
  const transactions = [
    attempt("first", 0, own),
    attempt("before", 1),
    attempt("second", 2, own),
    attempt("stranger", 3, { customerId: "cus_2" }),
    attempt("since", 4),
    attempt("by_hand", 5, { initiator: "CUSTOMER" }),
  ];
  const loaded = { ...view, transactions } as unknown as LoadedCase;
  const [other, open, ...rest] = buildHistory(loaded, buildDecisionFacts(loaded, []), []).invoices;
  assert.deepEqual([other!.charges.map(({ at }) => at), rest], [[new Date(+unpaidAt + 4 * DAY_MS)], []]);
  assert.equal(open!.charges.length, 2);
});
