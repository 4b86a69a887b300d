import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../domain/durations.ts";
import type { Transaction } from "../domain/transaction.ts";
import { buildDecisionContext } from "../engine/decision-context.ts";
import type { PendingRetryRequest } from "../tables/recovery-actions.ts";
import { buildDecisionFacts, declineCodesOf } from "./build-decision-facts.ts";
import type { LoadedCase } from "./loaded-case.ts";

const at = new Date("2026-03-02T10:00:00Z");
const buildAsk = (number: number): PendingRetryRequest => ({
  mayBeAnswered: true,
  actionId: `01900000-0000-7000-8000-00000000000${number}`,
  caseId: `case_${number}`,
  invoiceId: `inv_${number}`,
  customerId: "cus_1",
  at,
});
/** An unpaid invoice without reported attempts, with requested retries of the same time. */
const viewWith = (pendingRequests: PendingRetryRequest[]) =>
  ({
    case: { id: "case_1", customerId: "cus_1", unpaidAt: at, windowEndsAt: at, budget: 8 },
    merchant: { leadMs: 0 },
    invoice: { id: "inv_1", amount: 4900, currency: "EUR" },
    transactions: [],
    pendingRequests,
    customerInvoices: [],
    issuerDownAt: null,
    blockingAttempts: [],
    disputed: [],
    storedConflict: null,
  }) as unknown as LoadedCase;

test("the facts do not depend on the order in which retries of the same time are read", () => {
  const [own, other] = [buildAsk(1), buildAsk(2)];
  const known = buildDecisionFacts(viewWith([own, other]), []);
  assert.deepEqual(
    known.ledger.map(({ onThisInvoice }) => onThisInvoice),
    [true, false, true],
  );
  assert.deepEqual(buildDecisionFacts(viewWith([other, own]), []), known);
});

test("the facts contain nothing that no decision uses", () => {
  const view = viewWith([]);
  const moved = { ...view, invoice: { ...view.invoice, businessEntity: "another one", updatedAt: new Date() } };
  assert.deepEqual(buildDecisionFacts(moved, []), buildDecisionFacts(view, []));
});

test("a retry requests the remaining amount, or the amount that remained then when the invoice is paid by now", () => {
  const view = viewWith([]);
  const amountOf = (invoice: object, ...attempts: object[]) =>
    buildDecisionFacts(
      {
        ...view,
        invoice: { ...view.invoice, createdAt: at, updatedAt: at, ...invoice },
        transactions: attempts,
      } as LoadedCase,
      [],
    ).amount;
  const part = {
    id: "t",
    invoiceId: "inv_1",
    state: "PAID",
    amount: 2000,
    currency: "EUR",
    createdAt: at,
    updatedAt: at,
  };
  assert.equal(amountOf({ state: "UNPAID" }, part), 2900);
  assert.equal(amountOf({ state: "PAID", amountDue: 0 }, part), 2900);
  assert.equal(amountOf({ state: "PAID", amountDue: 0 }), 4900);
});

test("a gateway's numeric code is read by the gateway's name", () => {
  const codes = (gateway: object) =>
    declineCodesOf({ paymentGatewayErrorCode: "12", ...gateway } as Transaction).gatewayCode;
  assert.equal(codes({ paymentGatewayName: "Adyen" }), "adyen 12");
  assert.equal(codes({ paymentGatewayType: "adyen" }), "adyen 12");
  assert.equal(codes({ paymentGatewayName: "Stripe" }), "12");
});

/** An attempt this many days after the first one. */
const attempt = (days: number, invoiceId: string, card: string, code: string | null, cardBrand = "visa") =>
  ({
    id: `txn_${days}`,
    invoiceId,
    customerId: "cus_1",
    amount: 4900,
    currency: "EUR",
    createdAt: new Date(at.getTime() + days * DAY_MS),
    state: code === null ? "PAID" : "FAILED",
    paymentMethodType: "card",
    cardBrand,
    cardFingerprint: card,
    networkDeclineCode: code ?? undefined,
  }) as Transaction;
const buildFactsWith = (...transactions: Transaction[]) =>
  buildDecisionFacts({ ...viewWith([]), transactions } as LoadedCase, []);
/** Returns the decline codes that count for the next charge. */
const countedAttempts = ({ ledger }: ReturnType<typeof buildDecisionFacts>) =>
  ledger.filter((e) => e.onPresentCard && e.approved === false).map(({ codes }) => codes?.networkDeclineCode);

test("attempts count by the card's fingerprint, else by the payment method, else by the customer", () => {
  const declines = (...named: Partial<Transaction>[]) =>
    countedAttempts(
      buildFactsWith(
        { ...attempt(0, "inv_0", "", "51"), ...named[0]! },
        { ...attempt(1, "inv_2", "", "61"), ...named[1]! },
        { ...attempt(2, "inv_1", "", "05"), ...named[2]! },
      ),
    );
  const unnamed = { cardFingerprint: undefined };
  const method = (paymentMethodId: string) => ({ ...unnamed, paymentMethodId });
  const card = (cardFingerprint: string) => ({ cardFingerprint, paymentMethodId: "pm_1" });
  assert.deepEqual(declines(card("A"), card("B"), card("B")), ["61", "05"]);
  assert.deepEqual(declines(method("pm_1"), method("pm_2"), method("pm_2")), ["61", "05"]);
  assert.deepEqual(declines(unnamed, unnamed, unnamed), ["51", "61", "05"]);
  assert.deepEqual(declines(unnamed, method("pm_1"), method("pm_2")), ["51", "05"]);
});

test("a second card does not replace the declined one when it was in use before", () => {
  const known = buildFactsWith(
    attempt(0, "inv_0", "B", null),
    attempt(1, "inv_1", "A", "41"),
    attempt(2, "inv_2", "B", null),
  );
  assert.deepEqual([known.lastDecline?.networkDeclineCode, known.cardChangedAt], ["41", null]);
  assert.deepEqual(countedAttempts(known), ["41"]);
});

test("a card first seen after the decline, on any invoice, replaces the declined one until that is charged again", () => {
  const changed = [attempt(1, "inv_1", "A", "41"), attempt(2, "inv_2", "B", null)];
  const known = buildFactsWith(...changed);
  assert.deepEqual([known.lastDecline, known.cardChangedAt, countedAttempts(known)], [null, changed[1]!.createdAt, []]);
  const again = buildFactsWith(...changed, attempt(3, "inv_3", "A", null));
  assert.deepEqual([again.lastDecline?.networkDeclineCode, again.cardChangedAt], ["41", null]);
});

test("a card that another customer of this card has switched to may be charged next, so its declines count", () => {
  const theirs = (days: number, card: string, code: string | null) => ({
    ...attempt(days, `inv_9${days}`, card, code),
    customerId: "cus_9",
  });
  const [shared, own] = [theirs(0, "A", null), attempt(1, "inv_1", "A", "51")];
  const factsOf = (...more: Transaction[]) =>
    countedAttempts(buildFactsWith(...[shared, own, ...more].sort((a, b) => +a.createdAt - +b.createdAt)));
  assert.deepEqual(factsOf(theirs(2, "B", "41")), ["51", "41"]);
  assert.deepEqual(factsOf(theirs(2, "B", "41"), attempt(3, "inv_1", "A", "61")), ["51", "61"], "charged since");
  assert.deepEqual(factsOf(theirs(0.5, "B", null), theirs(2, "B", "41")), ["51"], "a second card of theirs");
});

test("a card counts as working after a charge of money that was certainly on it, made by the merchant, and still stands", () => {
  const paid = attempt(1, "inv_0", "A", null);
  const isAlive = (overrides: Partial<Transaction>) =>
    buildFactsWith(
      attempt(0, "inv_2", "A", "57"),
      { ...paid, ...overrides },
      attempt(2, "inv_1", "A", "51"),
    ).ledger.some(({ clears }) => clears);
  assert.deepEqual([isAlive({}), isAlive({ state: "REFUNDED" })], [true, true]);
  const none: Partial<Transaction>[] = [
    { amount: 0 },
    { state: "VOIDED" },
    { state: "DISPUTED" },
    { state: "PENDING" },
    { initiator: "CUSTOMER" },
    { cardFingerprint: "B" },
    { cardFingerprint: undefined },
  ];
  for (const overrides of none) assert.equal(isAlive(overrides), false, JSON.stringify(overrides));
});

test("a substitute card counts together with the card that is charged again, since a retry may fall on either", () => {
  const known = buildFactsWith(
    attempt(0, "inv_0", "A", "05"),
    attempt(1, "inv_0", "B", "57"),
    attempt(2, "inv_1", "A", "51"),
  );
  assert.deepEqual(countedAttempts(known), ["05", "57", "51"]);
  // The declines of a card replaced for good do not count.
  const replaced = buildFactsWith(
    attempt(0, "inv_0", "A", "41"),
    attempt(1, "inv_0", "B", null),
    attempt(2, "inv_1", "B", "51"),
  );
  assert.deepEqual(countedAttempts(replaced), ["51"]);
});

test("a substitute card follows the rules of its own network", () => {
  const isCardBlocked = (brand: string, other: string) => {
    const known = buildFactsWith(
      attempt(0, "inv_0", "A", "05", brand),
      attempt(1, "inv_0", "B", "57", other),
      attempt(2, "inv_1", "A", "51", brand),
    );
    return buildDecisionContext(known, at).guard.block?.decline.codes.networkDeclineCode;
  };
  assert.deepEqual([isCardBlocked("mastercard", "visa"), isCardBlocked("visa", "mastercard")], ["57", undefined]);
});

test("a replacement card follows the rules of its own network", () => {
  const isCardBlocked = (brand: string, next: string, code: string) => {
    const known = buildFactsWith(attempt(0, "inv_1", "A", "51", brand), attempt(1, "inv_2", "B", code, next));
    return buildDecisionContext(known, at).guard.block?.decline.codes.networkDeclineCode;
  };
  assert.equal(isCardBlocked("mastercard", "visa", "46"), "46");
  assert.equal(isCardBlocked("visa", "mastercard", "57"), undefined);
});

test("an attempt blocked by the gateway counts toward no limit, and does not hide an earlier stolen card decline", () => {
  const blocked = (days: number) => ({
    ...attempt(days, "inv_1", "A", ""),
    paymentGatewayStatus: "not_sent_to_network",
  });
  const known = buildFactsWith(attempt(0, "inv_1", "A", "43"), blocked(1), blocked(2));
  assert.deepEqual(
    known.ledger.map(({ isUnsent }) => isUnsent ?? false),
    [false, true, true],
  );
  assert.equal(known.lastDecline?.networkDeclineCode, "43");
  assert.deepEqual(
    buildDecisionContext(known, at).guard.limits.map(({ times }) => times.length),
    [1],
  );
  const stopped = { ...blocked(3), paymentGatewayErrorCode: "previously_declined_do_not_retry" };
  const { decline } = buildDecisionContext(buildFactsWith(attempt(0, "inv_1", "A", "51"), stopped), at);
  assert.deepEqual([decline?.group, decline?.words], ["HARD_CARD", "Stripe blocks further attempts on the card"]);
});
