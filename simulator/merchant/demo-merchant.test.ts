import assert from "node:assert/strict";
import { test } from "node:test";
import type { Invoice, Subscription, Transaction, WebhookEvent } from "#sdk";
import { DECLINES } from "../world/decline-reasons.ts";
import { DAY_MS, HOUR_MS } from "../world/keyed-random.ts";
import { createDemoMerchant, type DemoMerchant } from "./demo-merchant.ts";
import type { BookedInvoice } from "./merchant-books.ts";

const START = new Date("2026-03-02T08:00:00Z");
const addMs = (at: Date, ms: number) => new Date(at.getTime() + ms);
let events = 0;

const buildRetryEvent = (invoiceId: string, ideal: Date): WebhookEvent => ({
  id: `evt_${++events}`,
  type: "recovery_action",
  created: START.toISOString(),
  data: { invoiceId, actionSuggestion: "ACTION_SUGGESTION_RETRY", idealRetryTime: ideal.toISOString() },
});
const buildCardChangeEvent = (invoiceId: string, ideal: Date): WebhookEvent => ({
  ...buildRetryEvent(invoiceId, ideal),
  type: "recovery_action",
  data: { invoiceId, actionSuggestion: "ACTION_SUGGESTION_CARD_CHANGE", idealRetryTime: ideal.toISOString() },
});
const buildInvoiceEvent = (type: "pause_collection" | "complete_dunning", invoiceId: string): WebhookEvent => ({
  id: `evt_${++events}`,
  type,
  created: START.toISOString(),
  data: { invoiceId },
});

function merchantOf(options: { seed?: number; pushTransactions?: boolean; print?(line: string): void } = {}) {
  return createDemoMerchant({ seed: 11, customers: 120, startAt: START, ...options });
}

const isHard = ({ attempts }: BookedInvoice) => {
  const reason = attempts.at(-1)?.reason;
  return reason !== null && reason !== undefined && DECLINES[reason].hard;
};

/** Steps until an invoice has just failed, and returns it with the time. */
function runUntilFailure(merchant: DemoMerchant, wanted: (invoice: BookedInvoice) => boolean = (it) => !isHard(it)) {
  const old = new Set(merchant.invoices().map(({ id }) => id));
  for (;;) {
    const now = merchant.nextAt()!;
    merchant.step(now);
    const invoice = merchant.invoices().find((it) => it.state === "UNPAID" && !old.has(it.id) && wanted(it));
    if (invoice) return { invoice, now };
  }
}

test("a retry is made once at its ideal time when its event arrives twice", () => {
  const merchant = merchantOf();
  const { invoice, now } = runUntilFailure(merchant);
  const ideal = addMs(now, 6 * HOUR_MS);
  const event = buildRetryEvent(invoice.id, ideal);
  assert.deepEqual(merchant.receive(event, now), { success: true });
  merchant.step(addMs(now, 5 * HOUR_MS));
  assert.equal(invoice.attempts.length, 1);
  merchant.receive(event, addMs(now, 5 * HOUR_MS));
  merchant.step(addMs(now, 7 * HOUR_MS));
  merchant.receive(event, addMs(now, 7 * HOUR_MS));
  merchant.takeOutbox();
  merchant.step(addMs(now, 8 * HOUR_MS));
  const asked = invoice.attempts.filter(({ recoveryActionId }) => recoveryActionId === event.id);
  assert.deepEqual(
    asked.map(({ at }) => at),
    [ideal],
  );
});

test("a retry is made at once and names the event when its ideal time is past", () => {
  const merchant = merchantOf();
  const { invoice, now } = runUntilFailure(merchant);
  merchant.takeOutbox();
  const event = buildRetryEvent(invoice.id, addMs(now, -HOUR_MS));
  merchant.receive(event, now);
  merchant.step(now);
  const { transactions, invoices } = merchant.takeOutbox();
  const made = transactions.find(({ recoveryActionId }) => recoveryActionId === event.id)!;
  assert.equal(made.createdAt, now.toISOString());
  assert.equal(made.initiator, "TRANSACTION_INITIATOR_RECOVERY_ACTION");
  assert.equal(made.attemptNumber, 2);
  assert.equal(invoices.at(-1)?.id, invoice.id);
});

test("a card is not charged again after a hard decline until it is replaced", () => {
  const merchant = merchantOf();
  const { invoice, now } = runUntilFailure(merchant, isHard);
  merchant.receive(buildRetryEvent(invoice.id, now), now);
  merchant.step(addMs(now, HOUR_MS));
  assert.equal(invoice.attempts.length, 1);
  assert.equal(invoice.refused, 1);
});

test("pause_collection ends the merchant's own retries", () => {
  const paused = merchantOf();
  const free = merchantOf();
  const { invoice, now } = runUntilFailure(paused, ({ attempts }) => attempts[0]?.reason === "insufficient_funds");
  paused.receive(buildInvoiceEvent("pause_collection", invoice.id), now);
  for (const merchant of [paused, free]) merchant.step(addMs(now, 25 * HOUR_MS));
  assert.equal(invoice.attempts.length, 1);
  assert.equal(free.invoice(invoice.id)?.attempts.length, 2);
});

test("complete_dunning writes off the invoice, cancels the subscription, and brings a new customer", () => {
  const merchant = merchantOf();
  const { invoice, now } = runUntilFailure(merchant);
  merchant.takeOutbox();
  merchant.receive(buildInvoiceEvent("complete_dunning", invoice.id), now);
  merchant.step(addMs(now, 5 * DAY_MS));
  const { subscriptions, invoices } = merchant.takeOutbox();
  assert.equal(invoices.findLast(({ id }) => id === invoice.id)?.state, "INVOICE_STATE_UNCOLLECTIBLE");
  const canceled = subscriptions.find(({ id }) => id === invoice.subscription.id);
  assert.equal(canceled?.state, "SUBSCRIPTION_STATE_CANCELED");
  assert.equal(canceled?.canceledAt, now.toISOString());
  assert.ok(subscriptions.some(({ id }) => id === "sub_000121"));
});

test("some customers enter a new card when asked, and Dunlin sees its fingerprint", () => {
  const merchant = merchantOf();
  const asked: { id: string; subscription: BookedInvoice["subscription"]; before: number }[] = [];
  for (let n = 0; n < 12; n++) {
    const { invoice, now } = runUntilFailure(merchant, isHard);
    merchant.receive(buildCardChangeEvent(invoice.id, now), now);
    asked.push({ ...invoice, before: invoice.subscription.card.generation });
  }
  merchant.step(addMs(merchant.nextAt()!, 10 * DAY_MS));
  const { transactions } = merchant.takeOutbox();
  const changed = asked.filter(({ subscription, before }) => subscription.card.generation > before);
  assert.ok(changed.length >= 2 && changed.length < asked.length, `${changed.length}`);
  for (const { id } of changed) {
    const methods = new Set(transactions.filter((it) => it.invoiceId === id).map((it) => it.paymentMethodId));
    assert.equal(methods.size, 2);
  }
});

/** Runs a quarter in which every open invoice gets a retry instruction daily and a request for a new card weekly. */
function runQuarter(options: Parameters<typeof merchantOf>[0] = {}) {
  const merchant = merchantOf(options);
  const pushed = { subscriptions: [] as Subscription[], transactions: [] as Transaction[], invoices: [] as Invoice[] };
  for (let day = 0; day < 90; day++) {
    const now = addMs(START, day * DAY_MS);
    merchant.step(now);
    for (const { id, state } of merchant.invoices()) {
      if (state !== "UNPAID") continue;
      merchant.receive(buildRetryEvent(id, addMs(now, HOUR_MS)), now);
      if (day % 7 === 0) merchant.receive(buildCardChangeEvent(id, now), now);
    }
    const taken = merchant.takeOutbox();
    pushed.subscriptions.push(...taken.subscriptions);
    pushed.transactions.push(...taken.transactions);
    pushed.invoices.push(...taken.invoices);
  }
  return { merchant, pushed };
}

test("neither a paid invoice nor a card with a hard decline is charged again", () => {
  const { merchant } = runQuarter();
  const invoices = merchant.invoices();
  assert.ok(invoices.some(({ attempts }) => attempts.length > 3));
  for (const { attempts, state } of invoices) {
    const paidAt = attempts.findIndex(({ reason }) => reason === null);
    assert.equal(paidAt, state === "PAID" ? attempts.length - 1 : -1);
    attempts.forEach(({ reason, card }, n) => {
      if (reason !== null && DECLINES[reason].hard) assert.notEqual(attempts[n + 1]?.card, card);
    });
  }
});

test("every version of a record is newer than the one before", () => {
  const { pushed } = runQuarter();
  for (const records of [pushed.invoices, pushed.subscriptions]) {
    const newest = new Map<string, string>();
    for (const { id, updatedAt } of records) {
      assert.ok(updatedAt! > (newest.get(id) ?? ""), id);
      newest.set(id, updatedAt!);
    }
  }
});

test("the same seed and the same instructions give the same records", () => {
  const events0 = events;
  const first = runQuarter().pushed;
  events = events0;
  assert.deepEqual(runQuarter().pushed, first);
});

test("Dunlin gets only subscriptions and invoices when transactions are off", () => {
  const { pushed } = runQuarter({ pushTransactions: false });
  assert.equal(pushed.transactions.length, 0);
  assert.ok(pushed.invoices.some(({ state }) => state === "INVOICE_STATE_UNPAID"));
});

test("the first failures come within a day, lines fit 100 columns, and the recovered amount is the paid amount", () => {
  const lines: string[] = [];
  const { merchant } = runQuarter({ print: (line) => lines.push(line) });
  assert.match(lines[0]!, /^2026-03-02 \d\d:\d\d {2}inv_\d{6} {2}.* declined: /);
  assert.ok(lines.every((line) => line.length <= 100));
  const { total, byCurrency, byReason, byWay } = merchant.summary();
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((a, b) => a + b, 0);
  assert.equal(total.failed, total.recovered + total.open + total.givenUp);
  assert.equal(sum(byCurrency.values().map(({ failed }) => failed)), total.failed);
  assert.equal(sum(byReason.values().map(({ recovered }) => recovered)), total.recovered);
  assert.equal(sum(byWay.values()), total.recovered);
});

test("a record is pushed once it exists, and never with a future date", () => {
  const merchant = merchantOf();
  const pushed = new Set<string>();
  for (let days = 0; days < 90; days += 0.25) {
    const now = addMs(START, days * DAY_MS);
    merchant.step(now);
    const { subscriptions, invoices, transactions } = merchant.takeOutbox();
    for (const { id, createdAt, updatedAt } of [...subscriptions, ...invoices, ...transactions])
      assert.ok(new Date(updatedAt ?? createdAt) <= now && new Date(createdAt) <= now, `${id} at ${now.toISOString()}`);
    for (const { id } of subscriptions) pushed.add(id);
    for (const { subscriptionId } of invoices) assert.ok(pushed.has(subscriptionId!), `${subscriptionId} is not known`);
  }
  assert.ok(pushed.size > 120);
});
