import type { Invoice, Subscription, Transaction } from "#sdk";
import { integerBetween, keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import type { WebhookBody } from "../harness/receiver.ts";

export type RecordKindName = "subscriptions" | "invoices" | "transactions";
export type SentRecord = Subscription | Invoice | Transaction;

/** The versions sent of one record, and the last acknowledged one. */
export interface SentVersion {
  /** By `updatedAt`. */
  copies: Map<string, SentRecord>;
  acknowledged: string | null;
}

export interface SentInvoice {
  invoice: Invoice;
  open: boolean;
}

/** The merchant's own books: records sent, and when they were acknowledged. */
export interface SentRecords {
  sent: { [K in RecordKindName]: Map<string, SentVersion> };
  /** Real time at which Dunlin first acknowledged that an invoice is paid. */
  paidAt: Map<string, number>;
  /** Real time at which Dunlin first acknowledged that a subscription was canceled. */
  canceledAt: Map<string, number>;
  noteSent(kind: RecordKindName, records: readonly SentRecord[]): void;
  noteAcknowledged(kind: RecordKindName, records: readonly SentRecord[]): void;
  /** New customers who did not pay. */
  newDebts(count: number): { subscriptions: Subscription[]; invoices: Invoice[]; transactions: Transaction[] };
  /** Subscriptions with nothing to recover, never sent again: a large batch takes long, and can be cut in the middle. */
  prospects(count: number): Subscription[];
  /** Newer versions of existing subscriptions. */
  changes(count: number): Subscription[];
  cancellation(): Subscription[];
  /** Customers who pay unasked. */
  payments(count: number): { invoices: Invoice[]; transactions: Transaction[] };
  /** The merchant's records after following an instruction. */
  reaction(event: WebhookBody): { invoices: Invoice[]; transactions: Transaction[] };
  /** Pays all invoices, so that no case stays open. */
  settlement(): Invoice[];
}

/** Response codes of the networks, most of them soft declines. */
const DECLINES = [
  ["51", 12],
  ["05", 5],
  ["91", 2],
  ["54", 1],
  ["43", 0.5],
] as const;
const PAYMENT_RATE = 0.2;
const NEW_CARD_RATE = 0.5;

/** @param now  service time */
export function createSentRecords(seed: number, now: () => Date): SentRecords {
  const sent: SentRecords["sent"] = { subscriptions: new Map(), invoices: new Map(), transactions: new Map() };
  const paidAt = new Map<string, number>();
  const canceledAt = new Map<string, number>();
  const invoices = new Map<string, SentInvoice>();
  const subscriptions: Subscription[] = [];
  const cards = new Map<string, number>();
  let draws = 0;
  let prospects = 0;
  const draw = () => keyedRandom(seed, "books", draws++);

  /** Later than the previous version. */
  const momentAfter = (before: string | null | undefined) =>
    new Date(Math.max(now().getTime(), before ? Date.parse(before) + 1 : 0)).toISOString();

  function newSubscription(name: string): Subscription {
    const at = now().toISOString();
    const state = "SUBSCRIPTION_STATE_ACTIVE";
    const of = { customerId: `cus_${name}`, amount: integerBetween(draw(), 100, 9_999), currency: "EUR" };
    return { id: `sub_${name}`, state, ...of, createdAt: at, updatedAt: at };
  }

  function attempt(invoice: Invoice, id: string, paid: boolean, more: Partial<Transaction>): Transaction {
    const at = now().toISOString();
    const card = cards.get(invoice.customerId) ?? 0;
    const code = pickWeighted(keyedRandom(seed, "decline", id), DECLINES);
    return {
      id,
      state: paid ? "TRANSACTION_STATE_PAID" : "TRANSACTION_STATE_FAILED",
      invoiceId: invoice.id,
      amount: invoice.amount,
      currency: invoice.currency,
      createdAt: at,
      updatedAt: at,
      customerId: invoice.customerId,
      paymentMethodType: "card",
      cardBrand: "visa",
      cardFingerprint: `fp_${invoice.customerId}_${card}`,
      cardCountry: "DE",
      ...(paid ? {} : { networkDeclineCode: code }),
      ...more,
    };
  }

  function paidCopy(booked: SentInvoice): Invoice {
    const { invoice } = booked;
    booked.open = false;
    booked.invoice = { ...invoice, state: "INVOICE_STATE_PAID", updatedAt: momentAfter(invoice.updatedAt) };
    return booked.invoice;
  }

  const open = () => [...invoices.values()].filter((each) => each.open);

  return {
    sent,
    paidAt,
    canceledAt,
    noteSent(kind, records) {
      for (const record of records) {
        const known = sent[kind].get(record.id) ?? { copies: new Map(), acknowledged: null };
        known.copies.set(record.updatedAt!, record);
        sent[kind].set(record.id, known);
      }
    },
    noteAcknowledged(kind, records) {
      const at = Date.now();
      for (const record of records) {
        const known = sent[kind].get(record.id)!;
        if (known.acknowledged === null || known.acknowledged < record.updatedAt!)
          known.acknowledged = record.updatedAt!;
        if (record.state === "INVOICE_STATE_PAID" && !paidAt.has(record.id)) paidAt.set(record.id, at);
        if (record.state === "SUBSCRIPTION_STATE_CANCELED" && !canceledAt.has(record.id)) canceledAt.set(record.id, at);
      }
    },
    newDebts(count) {
      const number = subscriptions.length;
      const fresh = Array.from({ length: count }, (_, n) => newSubscription(String(number + n)));
      subscriptions.push(...fresh);
      const debts = fresh.map(({ id, customerId, amount, currency }, n): Invoice => {
        const state = "INVOICE_STATE_UNPAID";
        const of = { subscriptionId: id, customerId, amount, currency };
        const at = now().toISOString();
        return { id: `inv_${number + n}`, state, ...of, createdAt: at, updatedAt: at };
      });
      for (const invoice of debts) invoices.set(invoice.id, { invoice, open: true });
      const transactions = debts.map((invoice) => attempt(invoice, `tx_first_${invoice.id}`, false, {}));
      return { subscriptions: fresh, invoices: debts, transactions };
    },
    prospects: (count) => Array.from({ length: count }, () => newSubscription(`new_${prospects++}`)),
    changes(count) {
      const chosen = new Set(Array.from({ length: count }, () => Math.floor(draw() * subscriptions.length)));
      return [...chosen].flatMap((index) => {
        const before = subscriptions[index];
        if (before === undefined || before.state !== "SUBSCRIPTION_STATE_ACTIVE") return [];
        const after = { ...before, planId: `plan_${draws}`, updatedAt: momentAfter(before.updatedAt) };
        subscriptions[index] = after;
        return [after];
      });
    },
    cancellation() {
      const index = Math.floor(draw() * subscriptions.length);
      const before = subscriptions[index];
      if (before === undefined || before.state !== "SUBSCRIPTION_STATE_ACTIVE") return [];
      const at = momentAfter(before.updatedAt);
      const after: Subscription = { ...before, state: "SUBSCRIPTION_STATE_CANCELED", canceledAt: at, updatedAt: at };
      subscriptions[index] = after;
      return [after];
    },
    payments(count) {
      const debts = open();
      const chosen = new Set(Array.from({ length: count }, () => debts[Math.floor(draw() * debts.length)]));
      const payers = [...chosen].filter((each) => each !== undefined);
      const initiator = "TRANSACTION_INITIATOR_CUSTOMER";
      const transactions = payers.map(({ invoice }) => attempt(invoice, `tx_own_${invoice.id}`, true, { initiator }));
      return { invoices: payers.map(paidCopy), transactions };
    },
    reaction(event) {
      const booked = invoices.get(event.data.invoiceId);
      if (event.type !== "recovery_action" || booked === undefined || !booked.open)
        return { invoices: [], transactions: [] };
      const { invoice } = booked;
      if (event.data.actionSuggestion === "ACTION_SUGGESTION_CARD_CHANGE") {
        if (keyedRandom(seed, "card", event.id) > NEW_CARD_RATE) return { invoices: [], transactions: [] };
        cards.set(invoice.customerId, (cards.get(invoice.customerId) ?? 0) + 1);
        const state = "TRANSACTION_STATE_VOIDED";
        return { invoices: [], transactions: [attempt(invoice, `tx_${event.id}`, true, { state, amount: 0 })] };
      }
      const pays = keyedRandom(seed, "pays", event.id) < PAYMENT_RATE;
      const initiator = "TRANSACTION_INITIATOR_RECOVERY_ACTION";
      const made = attempt(invoice, `tx_${event.id}`, pays, { recoveryActionId: event.id, initiator });
      return { invoices: pays ? [paidCopy(booked)] : [], transactions: [made] };
    },
    settlement: () => open().map(paidCopy),
  };
}
