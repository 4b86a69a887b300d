import { createHash } from "node:crypto";
import type { Client } from "../kit/sdk.ts";
import type { ConnectorStore } from "../kit/store.ts";
import { type Mapped, mapCharge, mapInvoice, mapSubscription } from "./mapping.ts";
import type { InvoiceFacts, StripeAccount } from "./stripe-account.ts";

export interface Syncing {
  account: StripeAccount;
  store: ConnectorStore;
  dunlin: Pick<Client, "ingest">;
}

/**
 * Reads an invoice from Stripe again, and pushes it with its attempts and its subscription. Attempts go first, so that a case opens with its
 * decline known. Safe to repeat: the same content has the same version.
 *
 * @returns the objects as Stripe showed them; null if there is no such invoice
 */
export async function syncInvoice(
  { account, store, dunlin }: Syncing,
  invoiceId: string,
): Promise<InvoiceFacts | null> {
  const facts = await account.readInvoice(invoiceId);
  if (!facts) return null;
  const { invoice, subscription, charges } = facts;
  const actions = await store.actionsOfCharges(charges.map(({ id }) => id));
  const isOwned = await store.isOwned(invoiceId);
  if (subscription) await dunlin.ingest.subscriptions([await withVersion(store, mapSubscription(subscription))]);
  const transactions = [];
  for (const charge of charges.toSorted((a, b) => a.created - b.created || (a.id < b.id ? -1 : 1))) {
    const origin = { invoice, actionId: actions.get(charge.id), isOwned };
    transactions.push(await withVersion(store, mapCharge(charge, origin)));
  }
  await dunlin.ingest.transactions(transactions);
  await dunlin.ingest.invoices([await withVersion(store, mapInvoice(invoice, charges))]);
  return facts;
}

/** Reads a subscription again. Its end also ends the recovery of its invoices. */
export async function syncSubscription({ account, store, dunlin }: Syncing, id: string): Promise<void> {
  const subscription = await account.readSubscription(id);
  if (subscription) await dunlin.ingest.subscriptions([await withVersion(store, mapSubscription(subscription))]);
}

async function withVersion<Row extends { id: string }>(
  store: ConnectorStore,
  { record, at }: Mapped<Row>,
): Promise<Row> {
  const digest = createHash("sha256").update(JSON.stringify(record)).digest("hex").slice(0, 32);
  const version = await store.versionOf((record as unknown as { id: string }).id, digest, at);
  return { ...record, updatedAt: version.toISOString() } as unknown as Row;
}
