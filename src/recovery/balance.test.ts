import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import { computeBalance, type Payment } from "./balance.ts";
import { buildInvoice, MINUTE, START } from "./stage.fixture.ts";

const at = (minutes: number) => new Date(START.getTime() + minutes * MINUTE);
const payment = (amount: number, minutes: number, overrides: Partial<Payment> = {}): Payment => ({
  ...{ invoiceId: "inv_1", state: "PAID", amount, currency: "EUR", createdAt: at(minutes), updatedAt: at(minutes) },
  ...overrides,
});
const unpaidAfter = (overrides: Partial<Invoice>, ...payments: Payment[]) =>
  computeBalance(buildInvoice(overrides), payments).unpaidAmount;

suite("the balance", () => {
  test("is the total minus the payments that stand", () => {
    assert.equal(unpaidAfter({}, payment(2000, 1)), 2900);
    assert.equal(unpaidAfter({}, payment(2000, 1), payment(2900, 2)), 0);
    for (const state of ["FAILED", "PENDING", "VOIDED", "DISPUTED"] as const)
      assert.equal(unpaidAfter({}, payment(4900, 1, { state })), 4900, state);
    const refunded = payment(4900, 1, { state: "REFUNDED" });
    assert.equal(unpaidAfter({}, refunded), 0, "no version since then says that it is owed again");
    for (const minutes of [1, 2]) assert.equal(unpaidAfter({ updatedAt: at(minutes) }, refunded), 4900);
    assert.equal(unpaidAfter({}, payment(4900, 1, { invoiceId: "inv_2" })), 4900);
    assert.equal(unpaidAfter({}, payment(4900, -1)), 4900, "older than the invoice");
    assert.equal(unpaidAfter({}, payment(4900, 0)), 0, "of the same second");
    assert.equal(unpaidAfter({}, payment(4900, 1, { currency: "USD" })), 4900, "in another currency");
  });

  test("takes the version's remaining amount from its date on", () => {
    assert.equal(unpaidAfter({ amountDue: 2900, updatedAt: at(5) }, payment(2000, 1)), 2900);
    assert.equal(unpaidAfter({ amountDue: 2900, updatedAt: at(5) }, payment(2000, 1), payment(2900, 6)), 0);
    assert.equal(unpaidAfter({ amountDue: 1000, updatedAt: at(5) }), 1000);
    assert.equal(unpaidAfter({ amountDue: 4900, updatedAt: at(5) }, payment(2000, 5)), 2900);
    assert.equal(unpaidAfter({ amountDue: 2900, updatedAt: at(5) }, payment(2000, 5)), 2900);
  });

  test("is the version's remaining amount when an invoice is partly paid, whatever was paid before", () => {
    const partly = { state: "PARTIALLY_PAID", amountDue: 2000, updatedAt: at(5) } as const;
    assert.equal(unpaidAfter(partly, payment(2900, 1)), 2000);
    assert.equal(unpaidAfter(partly, payment(4900, 1)), 2000);
    assert.equal(unpaidAfter(partly, payment(2900, 1), payment(2000, 6)), 0);
    assert.equal(unpaidAfter(partly, payment(2900, 5)), 2000, "the version knows of a payment of its own second");
    assert.equal(unpaidAfter(partly, payment(2900, 1), payment(2000, 5)), 0, "the version does not know of it");
    assert.equal(
      unpaidAfter({ ...partly, amount: 2000, amountDue: undefined }, payment(2900, 1)),
      2000,
      "its total was never seen",
    );
  });

  test("names facts that contradict each other", () => {
    const kindOf = (overrides: Partial<Invoice>, ...payments: Payment[]) =>
      computeBalance(buildInvoice(overrides), payments).conflict?.kind;
    assert.equal(kindOf({ updatedAt: at(5) }, payment(4900, 1)), "paid_but_unpaid");
    assert.equal(kindOf({ updatedAt: at(5) }, payment(4900, 5)), undefined);
    assert.equal(kindOf({}, payment(4900, 1, { currency: "USD" })), "two_currencies");
    assert.equal(kindOf({}, payment(490_000, 1)), "paid_too_much");
    assert.equal(kindOf({}, payment(4900, 1)), undefined);
    assert.equal(kindOf({ amount: 0, updatedAt: at(5) }, payment(4900, 1)), undefined, "credited afterwards");
  });

  test("counts a payment from the time it was paid, not from the start of its attempt", () => {
    const paidLate = (startMinute: number, paid: number) => payment(4900, startMinute, { updatedAt: at(paid) });
    assert.equal(unpaidAfter({}, paidLate(-60, 1)), 0, "it began before the invoice");
    const newer = { updatedAt: at(5) };
    assert.equal(computeBalance(buildInvoice(newer), [paidLate(1, 6)]).conflict, null, "it was paid after the version");
    assert.equal(unpaidAfter({ ...newer, amountDue: 4900 }, paidLate(1, 6)), 0);
    const partly = { ...newer, state: "PARTIALLY_PAID" } as const;
    assert.equal(unpaidAfter(partly, payment(3000, 1), payment(1900, 2, { updatedAt: at(6) })), 0);
    assert.equal(unpaidAfter({ ...partly, amountDue: 2900 }, payment(2900, 1, { updatedAt: at(6) })), 0);
  });

  test("dates a payment in full by the attempt that paid the last part", () => {
    assert.deepEqual(computeBalance(buildInvoice(), [payment(2900, 7), payment(2000, 2)]).paidAt, at(7));
    const inThree = [payment(100, 4), payment(2900, 3), payment(2000, 1)];
    assert.deepEqual(
      computeBalance(buildInvoice(), inThree).paidAt,
      at(3),
      "what came later paid nothing that was owed",
    );
    assert.equal(computeBalance(buildInvoice({ amount: 0 }), []).paidAt, null);
    assert.equal(computeBalance(buildInvoice({ amount: 0, amountDue: 0 }), []).paidAt, null);
  });

  test("is paid when payments cover the version's remaining amount, and settled when a credit does", () => {
    const partly = buildInvoice({ state: "PARTIALLY_PAID", amountDue: 2000, updatedAt: at(5) });
    assert.deepEqual(computeBalance(partly, [payment(2000, 6)]), { unpaidAmount: 0, paidAt: at(6), conflict: null });
    const credited = buildInvoice({ amountDue: 0, updatedAt: at(5) });
    assert.deepEqual(computeBalance(credited, [payment(2000, 1)]), { unpaidAmount: 0, paidAt: null, conflict: null });
  });

  test("is the total minus the payments when a PARTIALLY_PAID version reports no remaining amount, and unknown when they cover it", () => {
    const partly = { state: "PARTIALLY_PAID", updatedAt: at(5) } as const;
    assert.equal(unpaidAfter(partly, payment(2900, 1)), 2000);
    for (const parts of [
      [payment(4900, 1)],
      [payment(2900, 1), payment(2000, 2)],
      [payment(2900, 1), payment(2900, 2)],
    ]) {
      const { unpaidAmount, conflict } = computeBalance(buildInvoice(partly), parts);
      assert.deepEqual([unpaidAmount, conflict?.kind], [0, "paid_but_unpaid"], "it says that something is left");
    }
    const tied = computeBalance(buildInvoice(partly), [payment(2900, 1), payment(2000, 5)]);
    assert.deepEqual(
      [tied.unpaidAmount, tied.conflict, tied.paidAt],
      [0, null, at(5)],
      "it may not know of the last part",
    );
    assert.equal(
      unpaidAfter({ ...partly, amount: 2000 }, payment(2000, 5)),
      0,
      "it may be the rest: nothing is asked for twice",
    );
    assert.equal(unpaidAfter({ ...partly, amount: 2000 }, payment(2900, 5)), 2000, "of its own second");
  });

  test("decides by the sums whether a version includes a payment of the same second", () => {
    const partly = { state: "PARTIALLY_PAID", amountDue: 2000, updatedAt: at(5) } as const;
    assert.equal(unpaidAfter(partly, payment(2000, 1), payment(900, 5)), 2000, "it knows");
    assert.equal(
      unpaidAfter(partly, payment(2000, 1), payment(900, 5), payment(1000, 6)),
      1000,
      "and of nothing later",
    );
    assert.equal(unpaidAfter(partly, payment(1900, 1), payment(1000, 2), payment(500, 5)), 1500, "it does not know");
    assert.equal(unpaidAfter(partly, payment(2900, 1), payment(2500, 5)), 0, "more was paid than the total");
    assert.equal(
      unpaidAfter(partly, payment(2000, 5)),
      0,
      "it may be the rest that is paid: nothing is asked for twice",
    );
    assert.equal(
      unpaidAfter({ ...partly, amountDue: 3900 }, payment(1000, 5), payment(1000, 5)),
      2900,
      "it knows one of two",
    );
    assert.equal(unpaidAfter({ ...partly, state: "UNPAID" }, payment(2000, 5)), 0);
    assert.equal(
      unpaidAfter(partly, ...Array.from({ length: 13 }, () => payment(10, 5))),
      1870,
      "of very many it knows none",
    );
  });

  test("never exceeds the total minus the payments when an UNPAID version reports more", () => {
    assert.equal(unpaidAfter({ amountDue: 4900, updatedAt: at(5) }, payment(2000, 1)), 2900);
  });

  test("reports a conflict with its facts when a payment in full precedes the version", () => {
    const inParts = [payment(2000, 1), payment(2900, 3)];
    const facts = { kind: "paid_but_unpaid", paid: 4900, currency: "EUR", paidAt: at(3), unpaidAt: at(5) };
    assert.deepEqual(computeBalance(buildInvoice({ updatedAt: at(5) }), inParts).conflict, facts);
    const conflict = (overrides: Partial<Invoice>, ...payments: Payment[]) =>
      computeBalance(buildInvoice(overrides), payments).conflict;
    assert.equal(conflict({ updatedAt: at(5) }, payment(2000, 1), payment(2900, 6)), null, "the rest came later");
    assert.equal(conflict({ updatedAt: at(5), amountDue: 0 }, payment(4900, 1)), null, "it says that nothing is left");
  });

  test("reports a conflict when a payment exceeds the total, unless the version is later and asks for the rest", () => {
    const kind = (state: "UNPAID" | "PARTIALLY_PAID", minutes: number) =>
      computeBalance(buildInvoice({ state, amount: 2000, updatedAt: at(5) }), [payment(2900, minutes)]).conflict?.kind;
    assert.deepEqual(
      [1, 5, 6].map((minutes) => kind("PARTIALLY_PAID", minutes)),
      [undefined, undefined, "paid_too_much"],
    );
    assert.deepEqual(
      [1, 5, 6].map((minutes) => kind("UNPAID", minutes)),
      Array(3).fill("paid_too_much"),
    );
  });
});
