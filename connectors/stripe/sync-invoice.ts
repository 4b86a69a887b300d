import { createHash } from "node:crypto";
import type { Client, Invoice, Subscription, Transaction } from "../kit/sdk.ts";
import type { ConnectorStore } from "../kit/store.ts";
import {
  type ChargeOrigin,
  type Mapped,
  mapCharge,
  mapInvoice,
  mapNewMethod,
  mapSubscription,
  subscriptionIdOf,
} from "./mapping.ts";
import { type InvoiceFacts, idOf, type StripeAccount } from "./stripe-account.ts";

export interface Syncing {
  account: StripeAccount;
  store: ConnectorStore;
  dunlin: Pick<Client, "ingest">;
  now(): Date;
}

/** Records to push, of one object or of many. */
export interface Records {
  subscriptions: Subscription[];
  transactions: Transaction[];
  invoices: Invoice[];
}

/**
 * Reads an invoice from Stripe again, with its attempts and its subscription. Safe to repeat: the same content has the same version.
 *
 * @returns the objects as Stripe showed them, and the records that say so; null if there is no such invoice
 */
export async function readInvoiceAgain(
  syncing: Syncing,
  invoiceId: string,
): Promise<{ facts: InvoiceFacts; records: Records } | null> {
  const { account, store } = syncing;
  const readNo = await store.beginRead();
  const facts = await account.readFacts(invoiceId);
  if (!facts) return null;
  const { invoice, subscription, charges } = facts;
  const owned = (await store.ownershipOf([invoiceId])).get(invoiceId) ?? null;
  const transactions = await addVersions(store, await mapCharges(store, facts, owned), readNo);
  if (owned?.until === null) {
    await store.setCustomer(invoiceId, idOf(invoice.customer) ?? "");
    const check = invoice.status === "open" ? await findNewMethod(syncing, facts, readNo) : null;
    if (check) transactions.push(check);
  }
  const subscriptions = subscription ? await addVersions(store, [mapSubscription(subscription)], readNo) : [];
  const invoices = await addVersions(store, [mapInvoice(invoice, charges)], readNo);
  return { facts, records: { subscriptions, transactions, invoices } };
}

/** Attempts go before invoices, so that a case opens with its decline known. */
export async function pushRecords({ dunlin }: Pick<Syncing, "dunlin">, all: readonly Records[]) {
  const subscriptions = latestOf(all.flatMap((records) => records.subscriptions));
  const transactions = latestOf(all.flatMap((records) => records.transactions));
  const invoices = latestOf(all.flatMap((records) => records.invoices));
  if (subscriptions.length > 0) await dunlin.ingest.subscriptions(subscriptions);
  if (transactions.length > 0) await dunlin.ingest.transactions(transactions);
  if (invoices.length > 0) await dunlin.ingest.invoices(invoices);
}

/** The latest version of each record, because two invoices may bring the same subscription. */
const latestOf = <Row extends { id: string; updatedAt?: string | null }>(rows: readonly Row[]): Row[] => [
  ...new Map(rows.toSorted((a, b) => (a.updatedAt! < b.updatedAt! ? -1 : 1)).map((row) => [row.id, row])).values(),
];

/** Reads an invoice again and pushes it. */
export async function syncInvoice(syncing: Syncing, invoiceId: string): Promise<InvoiceFacts | null> {
  const read = await readInvoiceAgain(syncing, invoiceId);
  if (read) await pushRecords(syncing, [read.records]);
  return read?.facts ?? null;
}

async function mapCharges(
  store: ConnectorStore,
  { invoice, charges, wonCharges }: InvoiceFacts,
  owned: ChargeOrigin["owned"],
) {
  const actions = await store.actionsOfCharges(charges.map(({ id }) => id));
  const origin = {
    invoiceId: invoice.id,
    customerId: idOf(invoice.customer),
    subscriptionId: subscriptionIdOf(invoice),
    owned,
  };
  return charges
    .toSorted((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1))
    .map((charge) =>
      mapCharge(charge, { ...origin, actionId: actions.get(charge.id), isWon: wonCharges.has(charge.id) }),
    );
}

/** Returns a card check without an amount, dated when the new method was first seen. */
async function findNewMethod(
  { account, store, now }: Syncing,
  { invoice, subscription, charges }: InvoiceFacts,
  readNo: number,
): Promise<Transaction | null> {
  const method = await account.readNextMethod(invoice, subscription);
  const record = method && mapNewMethod(invoice, charges, method);
  if (!record) return null;
  const seen = await store.versionsOf([{ objectId: record.id, digest: digestOf(record), at: now() }], readNo);
  const at = seen.get(record.id)?.toISOString();
  return at === undefined ? null : ({ ...record, createdAt: at, updatedAt: at } as Transaction);
}

/** Reads a subscription again. Its end also ends the recovery of its invoices. Null: there is none. */
export async function readSubscriptionAgain({ account, store }: Syncing, id: string): Promise<Records | null> {
  const readNo = await store.beginRead();
  const subscription = await account.readSubscription(id);
  if (!subscription) return null;
  const subscriptions = await addVersions(store, [mapSubscription(subscription)], readNo);
  return { subscriptions, transactions: [], invoices: [] };
}

/** Gives each record its version. Leaves out those of which a later read has seen a newer state. */
export async function addVersions<Row extends { id: string }>(
  store: ConnectorStore,
  mapped: readonly Mapped<Row>[],
  readNo: number,
): Promise<Row[]> {
  const contents = mapped.map(({ record, at }) => ({ objectId: idOfRecord(record), digest: digestOf(record), at }));
  const versions = await store.versionsOf(contents, readNo);
  return mapped.flatMap(({ record }) => {
    const version = versions.get(idOfRecord(record));
    return version === undefined ? [] : [{ ...record, updatedAt: version.toISOString() } as unknown as Row];
  });
}

const idOfRecord = (record: object) => (record as { id: string }).id;
const digestOf = (record: object) =>
  createHash("sha256").update(JSON.stringify(record)).digest("base64url").slice(0, 32);
