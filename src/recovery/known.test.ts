import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transaction } from "../domain/transaction.ts";
import type { Ask } from "../store/recovery-actions.ts";
import { codesOf, knownOf } from "./known.ts";
import type { CaseView } from "./step.ts";

const at = new Date("2026-03-02T10:00:00Z");
const ask = (number: number): Ask => ({
  actionId: `01900000-0000-7000-8000-00000000000${number}`,
  caseId: `case_${number}`,
  invoiceId: `inv_${number}`,
  customerId: "cus_1",
  at,
});
/** An unpaid invoice of which nothing was reported, beside retries of the same moment that were asked for. */
const viewWith = (asks: Ask[]) =>
  ({
    case: { id: "case_1", customerId: "cus_1", unpaidAt: at, windowEndsAt: at, budget: 8 },
    merchant: { leadMs: 0 },
    invoice: { id: "inv_1", amount: 4900, currency: "EUR" },
    transactions: [],
    asks,
    atBank: [],
  }) as unknown as CaseView;

test("what is known does not depend on the order in which retries of the same moment were read", () => {
  const [own, other] = [ask(1), ask(2)];
  const known = knownOf(viewWith([own, other]), []);
  assert.deepEqual(
    known.ledger.map(({ onThisInvoice }) => onThisInvoice),
    [true, false, true],
  );
  assert.deepEqual(knownOf(viewWith([other, own]), []), known);
});

test("a gateway's number is read by the gateway's name", () => {
  const codes = (gateway: object) => codesOf({ paymentGatewayErrorCode: "12", ...gateway } as Transaction).gatewayCode;
  assert.equal(codes({ paymentGatewayName: "Adyen" }), "adyen 12");
  assert.equal(codes({ paymentGatewayType: "adyen" }), "adyen 12");
  assert.equal(codes({ paymentGatewayName: "Stripe" }), "12");
});
