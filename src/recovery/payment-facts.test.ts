import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { wouldChargeDisputedCard } from "./disputed-card.ts";
import { NOT_ENDED } from "./ends.ts";
import type { LoadedCase } from "./loaded-case.ts";
import { buildPaymentFacts } from "./payment-facts.ts";
import { buildInvoice, MINUTE, START } from "./stage.fixture.ts";

const at = (minutes: number) => new Date(START.getTime() + minutes * MINUTE);
const attempt = (id: string, overrides: Partial<TransactionFacts> = {}): TransactionFacts => ({
  ...{ id, state: "PAID", invoiceId: "inv_1", customerId: "cus_1", amount: 4900, currency: "EUR" },
  ...{ createdAt: at(1), updatedAt: at(1), ...overrides },
});
const view = (invoice: Partial<Invoice>, transactions: TransactionFacts[] = [], disputed: TransactionFacts[] = []) =>
  ({
    case: { id: "case_1", customerId: "cus_1", unpaidAt: START },
    invoice: buildInvoice(invoice),
    transactions,
    disputed,
  }) as unknown as LoadedCase;
const factsOf = (
  invoice: Partial<Invoice>,
  transactions: TransactionFacts[] = [],
  paidAt: Date | null = null,
  end = NOT_ENDED,
) => buildPaymentFacts(view(invoice, transactions), { unpaidAmount: 0, paidAt, conflict: null }, end);

test("an invoice is paid when its case says so, or when a paid version is no older than the case", () => {
  assert.equal(factsOf({}).paidAt, null);
  assert.deepEqual(factsOf({ state: "PAID", updatedAt: START }).paidAt, START);
  assert.equal(factsOf({ state: "PAID", updatedAt: at(-1) }).paidAt, null);
  assert.equal(factsOf({ state: "VOIDED" }).paidAt, null);
  const end = { endedAt: at(5), endReason: "paid", paidAt: at(4) } as const;
  assert.deepEqual(factsOf({ state: "PAID", updatedAt: at(9) }, [], null, end).paidAt, at(4));
  assert.deepEqual([factsOf({}, [], null, end).ended, factsOf({}).ended], [true, false]);
});

test("an invoice is unpaid since its version when that is in recovery", () => {
  assert.deepEqual(factsOf({ updatedAt: at(2) }).unpaidAt, at(2));
  assert.deepEqual(factsOf({ state: "PARTIALLY_PAID" }).unpaidAt, START);
  assert.equal(factsOf({ state: "PAID" }).unpaidAt, null);
});

test("an invoice's actions depend only on attempts on the invoice itself", () => {
  const own = attempt("own");
  assert.deepEqual(factsOf({}, [attempt("other", { invoiceId: "inv_2" }), own]).transactions, [own]);
});

test("an attempt pays in full by itself or as the last part", () => {
  const inFull = (transactions: TransactionFacts[], paidAt: Date | null = null) => {
    const { paidInFull } = factsOf({}, transactions, paidAt);
    return transactions.filter(paidInFull).map(({ id }) => id);
  };
  assert.deepEqual(
    inFull([attempt("a", { amount: 900 }), attempt("b", { amount: 4000 }), attempt("c", { amount: 1 })]),
    ["b"],
  );
  assert.deepEqual(inFull([attempt("a"), attempt("b", { amount: 4899 }), attempt("c")]), ["a", "c"]);
  assert.deepEqual(inFull([attempt("a", { amount: 900 }), attempt("b", { amount: 900 })]), []);
  assert.deepEqual(
    inFull(
      ["a", "b", "c"].map((id) => attempt(id, { amount: 900 })),
      at(1),
    ),
    ["c"],
    "beside a credit",
  );
  assert.deepEqual(inFull([], at(1)), []);
  assert.deepEqual(inFull([attempt("a", { state: "REFUNDED" })]), ["a"], "whatever became of the money");
  assert.deepEqual(inFull([attempt("a", { state: "FAILED" })], at(1)), []);
  assert.deepEqual(inFull([attempt("a", { currency: "USD" })], at(1)), []);
  assert.deepEqual(inFull([attempt("a", { invoiceId: "inv_2" })], at(1)), []);
  assert.deepEqual(inFull([attempt("a", { updatedAt: START })]), ["a"]);
  assert.deepEqual(inFull([attempt("a", { updatedAt: at(-1) })], at(1)), [], "before the case");
});

test("a retry would charge a disputed card unless another one is known to be charged", () => {
  const onCard = (id: string, cardFingerprint: string | undefined, overrides: Partial<TransactionFacts> = {}) =>
    attempt(id, { state: "FAILED", cardFingerprint, ...overrides });
  const disputed = onCard("disputed", "fp_1", { state: "DISPUTED" });
  const isOn = (transactions: TransactionFacts[], ...disputes: TransactionFacts[]) =>
    wouldChargeDisputedCard(view({}, transactions, disputes));
  assert.equal(isOn([]), false);
  assert.equal(isOn([], disputed), true);
  assert.equal(isOn([onCard("a", "fp_1")]), false);
  assert.equal(isOn([onCard("a", "fp_1")], disputed), true);
  assert.equal(isOn([onCard("a", "fp_2")], disputed), false);
  assert.equal(isOn([onCard("a", "fp_2")], disputed, onCard("b", "fp_2", { state: "DISPUTED" })), true);
  assert.equal(isOn([onCard("a", "fp_2")], onCard("b", undefined, { state: "DISPUTED" })), true);
});
