import assert from "node:assert/strict";
import { test } from "node:test";
import type Stripe from "stripe";
import { createAccount } from "./double/account.ts";
import {
  type DeclineFacts,
  makeCharge,
  makeCustomer,
  makeInvoice,
  makePaymentIntent,
  makePaymentMethod,
  makePrice,
  makeSubscription,
} from "./double/objects.ts";
import { declineFacts } from "./double/world-bank.ts";
import { mapCharge, mapInvoice, mapNewMethod, mapSubscription } from "./mapping.ts";
import { toMinorUnits } from "./minor-units.ts";

const AT = Date.parse("2026-03-01T10:00:00Z") / 1_000;
const account = createAccount({ now: () => new Date(AT * 1_000), apiVersion: "test", onEvent: () => {} });
const customer = makeCustomer(account, {});
const cardOf = (fingerprint: string) => ({
  ...{ brand: "visa", country: "DE", expMonth: 4, expYear: 2031, fingerprint, funding: "debit", iin: "401288" },
  ...{ issuer: "Harbor Bank", last4: "4242" },
});
const method = makePaymentMethod(account, customer.id, "card", cardOf("fp_old"));

const invoiceWith = (over: Partial<Stripe.Invoice>, amount = 4900, currency = "eur"): Stripe.Invoice => ({
  ...makeInvoice(account, customer, null, {
    ...{ amount, currency, billingReason: "subscription_cycle", periodStart: AT, periodEnd: AT },
  }),
  ...over,
});
function chargeOf(invoice: Stripe.Invoice, over: Partial<Stripe.Charge> = {}, decline: DeclineFacts | null = null) {
  const status = decline ? "failed" : "succeeded";
  return {
    ...makeCharge(account, makePaymentIntent(account, invoice), method, { status, decline, created: AT }),
    ...over,
  };
}
const NO_MONEY = declineFacts("insufficient_funds");
const origin = (invoice: Stripe.Invoice, over = {}) => ({
  ...{ invoiceId: invoice.id, customerId: customer.id, subscriptionId: undefined },
  ...{ actionId: undefined, owned: null, isWon: false, ...over },
});

test("an open invoice is unpaid only after a failure; before it, Dunlin has nothing to recover", () => {
  const stateOf = (over: Partial<Stripe.Invoice>, charges: Stripe.Charge[] = []) =>
    mapInvoice(invoiceWith(over), charges).record.state!.replace("INVOICE_STATE_", "");
  const open = invoiceWith({ status: "open" });
  const [failed, pending] = [chargeOf(open, {}, NO_MONEY), chargeOf(open, { status: "pending" })];
  assert.equal(stateOf({ status: "draft" }), "DRAFT");
  assert.equal(stateOf({ status: "open" }), "DRAFT");
  assert.equal(stateOf({ status: "open", attempt_count: 1 }, [pending]), "DRAFT");
  assert.equal(stateOf({ status: "open", attempt_count: 1 }), "UNPAID");
  assert.equal(stateOf({ status: "open" }, [failed]), "UNPAID");
  assert.equal(stateOf({ status: "open", amount_paid: 100 }, [failed]), "PARTIALLY_PAID");
  assert.equal(stateOf({ status: "open", collection_method: "send_invoice" }, [failed]), "DRAFT");
  const byHand = { status: "open", auto_advance: false } as const;
  assert.equal(stateOf(byHand, [failed]), "DRAFT", "the merchant collects it by hand");
  assert.equal(stateOf({ ...byHand, metadata: { dunlin: "dunlin-m" } }, [failed]), "UNPAID", "Dunlin turned it off");
  assert.equal(stateOf({ status: "open", metadata: { dunlin: "off" } }, [failed]), "DRAFT", "the merchant opted out");
  assert.equal(stateOf({ status: "paid" }), "PAID");
  assert.equal(stateOf({ status: "void" }), "VOIDED");
  assert.equal(stateOf({ status: "uncollectible" }), "UNCOLLECTIBLE");
});

test("what is owed is what remains, also after a credit note", () => {
  const record = (over: Partial<Stripe.Invoice>) => mapInvoice(invoiceWith({ status: "open", ...over }), []).record;
  assert.deepEqual([record({}).amount, record({}).amountDue], [4900, 4900]);
  const credited = record({ amount_remaining: 1900, amount_due: 1900, pre_payment_credit_notes_amount: 3000 });
  assert.deepEqual([credited.amount, credited.amountDue], [4900, 1900]);
  assert.deepEqual([record({ status: "paid", amount_remaining: 0 }).amountDue], [0]);
});

test("amounts are minor units by ISO 4217, also in currencies that Stripe counts otherwise", () => {
  assert.deepEqual(
    [toMinorUnits(4900, "EUR"), toMinorUnits(500, "JPY"), toMinorUnits(12_345, "KWD")],
    [4900, 500, 12_345],
  );
  assert.deepEqual(
    [toMinorUnits(500_000, "ISK"), toMinorUnits(500_000, "UGX"), toMinorUnits(700, "MGA")],
    [5000, 5000, 70_000],
  );
});

test("a charge shows its decline, its card, and who made it", () => {
  const invoice = invoiceWith({ status: "open" });
  const { record } = mapCharge(chargeOf(invoice, {}, NO_MONEY), origin(invoice));
  assert.deepEqual(
    [record.state, record.paymentGatewayErrorCode, record.networkDeclineCode, record.initiator],
    ["TRANSACTION_STATE_FAILED", "insufficient_funds", "51", "TRANSACTION_INITIATOR_BILLING_SYSTEM"],
  );
  assert.deepEqual(
    [record.cardBrand, record.cardBin, record.cardFingerprint, record.cardFunding, record.cardExpiryYear],
    ["visa", "401288", "fp_old", "CARD_FUNDING_DEBIT", 2031],
  );
  const makerOf = (over: object) => mapCharge(chargeOf(invoice), origin(invoice, over)).record.initiator;
  const owned = (since: number, until: number | null) => ({
    owned: { since: new Date((AT + since) * 1_000), until: until === null ? null : new Date((AT + until) * 1_000) },
  });
  assert.equal(makerOf(owned(-60, null)), "TRANSACTION_INITIATOR_CUSTOMER");
  assert.equal(makerOf(owned(-60, 60)), "TRANSACTION_INITIATOR_CUSTOMER");
  assert.equal(
    makerOf(owned(60, null)),
    "TRANSACTION_INITIATOR_BILLING_SYSTEM",
    "Stripe's own, before Dunlin took over",
  );
  assert.equal(makerOf(owned(-120, -60)), "TRANSACTION_INITIATOR_BILLING_SYSTEM", "Stripe's own, after the release");
  assert.equal(makerOf({ ...owned(-60, null), actionId: "a" }), "TRANSACTION_INITIATOR_RECOVERY_ACTION");
  const unsent = chargeOf(invoice, {}, { ...NO_MONEY, isSent: false });
  assert.equal(mapCharge(unsent, origin(invoice)).record.paymentGatewayStatus, "not_sent_to_network");
});

test("refunds and disputes change a charge's state; a dispute that was won does not", () => {
  const invoice = invoiceWith({ status: "paid" });
  const stateOf = (over: Partial<Stripe.Charge>, isWon = false) =>
    mapCharge(chargeOf(invoice, over), origin(invoice, { isWon })).record.state!.replace("TRANSACTION_STATE_", "");
  assert.equal(stateOf({}), "PAID");
  assert.equal(stateOf({ status: "pending" }), "PENDING");
  assert.equal(stateOf({ refunded: true }), "REFUNDED");
  assert.equal(stateOf({ amount_refunded: 100 }), "PAID");
  assert.equal(stateOf({ disputed: true }), "DISPUTED");
  assert.equal(stateOf({ disputed: true }, true), "PAID");
});

test("a subscription shows its state, its price per period, and its end", () => {
  const price = makePrice(account, {
    ...{ unitAmount: 1500, currency: "eur", interval: "month", intervalCount: 3, product: "prod" },
  });
  const made = makeSubscription(account, customer, price, { start: AT, periodEnd: AT });
  const map = (over: Partial<Stripe.Subscription>) => mapSubscription({ ...made, ...over }).record;
  const active = map({});
  assert.deepEqual(
    [active.state, active.amount, active.billingPeriod, active.billingPeriodUnit],
    ["SUBSCRIPTION_STATE_ACTIVE", 1500, 3, "BILLING_PERIOD_UNIT_MONTH"],
  );
  const states = ["trialing", "past_due", "unpaid", "incomplete", "incomplete_expired", "paused", "canceled"] as const;
  assert.deepEqual(
    states.map((status) => map({ status, canceled_at: AT }).state!.replace("SUBSCRIPTION_STATE_", "")),
    ["TRIALING", "PAST_DUE", "PAST_DUE", "PENDING", "EXPIRED", "PAUSED", "CANCELED"],
  );
  assert.equal(map({ status: "canceled", canceled_at: AT }).canceledAt, "2026-03-01T10:00:00.000Z");
  assert.equal(map({ canceled_at: AT }).canceledAt, undefined, "a cancellation at the period's end is ahead");
});

test("another card on file is told as a check without an amount, unless it is the one that failed", () => {
  const invoice = invoiceWith({ status: "open" });
  const failed = chargeOf(invoice, {}, NO_MONEY);
  const fresh = makePaymentMethod(account, customer.id, "card", cardOf("fp_new"));
  const check = mapNewMethod(invoice, [failed], fresh)!;
  assert.deepEqual(
    [check.state, check.amount, check.cardFingerprint, check.initiator],
    ["TRANSACTION_STATE_VOIDED", 0, "fp_new", "TRANSACTION_INITIATOR_CUSTOMER"],
  );
  assert.equal(mapNewMethod(invoice, [failed], method), null, "the method that failed");
  const twin = makePaymentMethod(account, customer.id, "card", cardOf("fp_old"));
  assert.equal(mapNewMethod(invoice, [failed], twin), null, "the same card again");
  assert.equal(mapNewMethod(invoice, [], fresh), null, "nothing failed");
  assert.equal(mapNewMethod(invoice, [chargeOf(invoice)], fresh), null, "the last charge succeeded");
});
