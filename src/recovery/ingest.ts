import { type Invoice, inRecovery } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { endsRecovery, type Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import { newestById } from "../store/batch.ts";
import {
  type CaseEnd,
  endCases,
  openCases,
  pokeCasesOfCustomers,
  pokeCasesOfInvoices,
  pokeCasesOfSubscriptions,
} from "../store/cases.ts";
import type { Database, Tx } from "../store/database.ts";
import { withdrawEvents } from "../store/events.ts";
import { findInvoices, insertNewInvoices, isOvertaken, upsertInvoices } from "../store/invoices.ts";
import { upsertSubscriptions } from "../store/subscriptions.ts";
import { upsertTransactions } from "../store/transactions.ts";
import { foundKnown, mayBeAllNew } from "./all-new.ts";
import { assignCases } from "./assign-cases.ts";
import { endByPayment, endOf, paysInFull } from "./ends.ts";

const DAY_MS = 86_400_000;

/** What became of a batch. */
export interface Stored {
  /** How many records it held; of two with one id only one counts. */
  records: number;
  /** The ids of those that were known already, in this copy or a newer one. */
  known: ReadonlySet<string>;
}

/** Told after the commit which events were taken back, so that a sender that has read them already drops them. */
export type OnWithdrawn = (merchantId: string, eventIds: readonly string[]) => void;

/**
 * Store a batch of subscriptions, all of it or none; of each the newer copy stays.
 */
export async function ingestSubscriptions(
  db: Database,
  merchant: Merchant,
  batch: readonly Subscription[],
  ports: Ports,
): Promise<Stored> {
  const subscriptions = newestById(batch);
  const changed = await db.transaction(async (tx) => {
    const rows = await upsertSubscriptions(tx, merchant.id, subscriptions);
    // An invoice may have come before its subscription, so new ones concern cases too.
    const ids = rows.map(({ id }) => id).sort();
    if (ids.length > 0) await pokeCasesOfSubscriptions(tx, merchant.id, ids, ports.newId());
    return new Set(ids);
  });
  // A case that was opened meanwhile has not seen the end, and could not be poked: now each side sees the other.
  const ended = subscriptions.filter(({ id, state }) => changed.has(id) && endsRecovery(state)).map(({ id }) => id);
  if (ended.length > 0) await pokeCasesOfSubscriptions(db, merchant.id, ended, ports.newId());
  return storedOf(subscriptions, changed);
}

/**
 * Store a batch of invoices, all of it or none; of each the newer copy stays. In the same transaction cases are opened
 * for what is unpaid, and ended for what is not any more: nothing of those that was not delivered goes out after the commit.
 */
export async function ingestInvoices(
  db: Database,
  merchant: Merchant,
  batch: readonly Invoice[],
  ports: Ports,
  onWithdrawn: OnWithdrawn = () => {},
  opensCases = true,
): Promise<Stored> {
  const invoices = newestById(batch);
  const store = async (mayBeNew: boolean) => {
    // What is new and over concerns no case: one statement does, without a transaction.
    const isOver = !invoices.some(({ state }) => inRecovery(state));
    if (mayBeNew && isOver && (await storeAllNew(db, merchant.id, invoices))) return { known: null, withdrawn: [] };
    return await db.transaction((tx) => storeWithCases(tx, merchant, invoices, ports, opensCases, mayBeNew && !isOver));
  };
  const mayBeNew = mayBeAllNew(merchant.id);
  const { known, withdrawn } = await store(mayBeNew).catch((error: unknown) => {
    if (mayBeNew && isOvertaken(error)) return store(false);
    throw error;
  });
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  return { records: invoices.length, known: known === null ? NONE : new Set(known) };
}

/** Store them if all are new: two thirds of the work of an upsert. */
async function storeAllNew(tx: Tx, merchantId: string, invoices: readonly Invoice[]): Promise<boolean> {
  const areNew = await insertNewInvoices(tx, merchantId, invoices);
  if (!areNew) foundKnown(merchantId);
  return areNew;
}

/** Store them, and open and end their cases. `mayBeNew`: it is worth a look whether all are new. */
async function storeWithCases(
  tx: Tx,
  merchant: Merchant,
  invoices: readonly Invoice[],
  ports: Ports,
  opensCases: boolean,
  mayBeNew: boolean,
) {
  const ids =
    mayBeNew && (await storeAllNew(tx, merchant.id, invoices))
      ? { newer: [], unpaid: invoices.filter(({ state }) => inRecovery(state)).map(({ id }) => id), known: null }
      : await upsertInvoices(tx, merchant.id, invoices);
  const now = ports.now();
  let withdrawn: string[] = [];
  const newer = withIds(invoices, ids.newer);
  const again = newer.filter(({ state }) => inRecovery(state)).map(({ id }) => id); // a new invoice has no case
  const over = newer.filter(({ state }) => !inRecovery(state));
  const changed = new Set([...ids.unpaid, ...again]);
  const unpaid = invoices.filter(({ id, state }) => inRecovery(state) && changed.has(id));
  if (unpaid.length > 0) {
    if (again.length > 0) await pokeCasesOfInvoices(tx, merchant.id, again, ports.newId());
    const openable = unpaid.filter((invoice) => opensCases && mayOpen(invoice, merchant, now));
    if (openable.length > 0) {
      const cases = openable.map((invoice) => newCase(invoice, merchant, now, ports));
      const { assigned, enter } = await assignCases(tx, merchant.id, cases);
      await openCases(tx, merchant.id, assigned, ports.newId());
      await enter();
    }
  }
  if (over.length > 0) withdrawn = await endAndWithdraw(tx, merchant.id, over.map(endOf), ports);
  return { known: ids.known, withdrawn };
}

/** As `ingestInvoices`, for history: what is unpaid opens no case until a newer copy is pushed. */
export const importInvoices = (db: Database, merchant: Merchant, batch: readonly Invoice[], ports: Ports) =>
  ingestInvoices(db, merchant, batch, ports, () => {}, false);

/**
 * Store a batch of payment attempts, all of it or none; of each the newer copy stays. An attempt that paid its invoice in
 * full ends the case in the same transaction.
 */
export async function ingestTransactions(
  db: Database,
  merchant: Merchant,
  batch: readonly Transaction[],
  ports: Ports,
  onWithdrawn: OnWithdrawn = () => {},
): Promise<Stored> {
  const transactions = newestById(batch);
  const byId = new Map(transactions.map((transaction) => [transaction.id, transaction]));
  const { changed, ...concerned } = await db.transaction(async (tx) => {
    const changed = (await upsertTransactions(tx, merchant.id, transactions)).map(({ id }) => byId.get(id)!);
    return { changed, ...(await tellCases(tx, merchant.id, changed, ports)) };
  });
  const { withdrawn } = concerned.all
    ? concerned
    : // A case that was opened meanwhile has not seen these attempts, and could not be told: now each side sees the other.
      await db.transaction((tx) => tellCases(tx, merchant.id, changed, ports));
  const events = distinct([...concerned.withdrawn, ...withdrawn]);
  if (events.length > 0) onWithdrawn(merchant.id, events);
  return storedOf(transactions, new Set(changed.map(({ id }) => id)));
}

const NONE: ReadonlySet<string> = new Set();

const storedOf = (records: readonly { id: string }[], changed: ReadonlySet<string>): Stored => ({
  records: records.length,
  known: changed.size === records.length ? NONE : new Set(records.map(({ id }) => id)).difference(changed),
});

/**
 * Let the cases look at these attempts, and end those that one of them paid.
 *
 * @returns `all`: whether every attempt found a case; and the events that were taken back
 */
async function tellCases(tx: Tx, merchantId: string, attempts: readonly Transaction[], ports: Ports) {
  let withdrawn: string[] = [];
  if (attempts.length === 0) return { all: true, withdrawn };
  const invoiceIds = distinct(attempts.map(({ invoiceId }) => invoiceId));
  const told = await pokeCasesOfInvoices(tx, merchantId, invoiceIds, ports.newId());
  await pokeCasesOfCustomers(tx, merchantId, distinct(attempts.map(({ customerId }) => customerId)), ports.newId());
  const paid = attempts.filter(({ state }) => state === "PAID");
  if (paid.length > 0) {
    const invoices = await findInvoices(tx, merchantId, distinct(paid.map(({ invoiceId }) => invoiceId)));
    const ends = new Map<string, CaseEnd>();
    for (const transaction of paid) {
      const invoice = invoices.get(transaction.invoiceId);
      if (invoice && paysInFull(transaction, invoice)) ends.set(invoice.id, endByPayment(transaction));
    }
    if (ends.size > 0) withdrawn = await endAndWithdraw(tx, merchantId, [...ends.values()], ports);
  }
  return { all: told >= invoiceIds.length, withdrawn };
}

/** What an ended case has not delivered goes back, whether it ended now or before. */
async function endAndWithdraw(tx: Tx, merchantId: string, ends: readonly CaseEnd[], ports: Ports): Promise<string[]> {
  const now = ports.now();
  const cases = await endCases(tx, merchantId, ends, now, ports.newId());
  return cases.length > 0 ? await withdrawEvents(tx, merchantId, cases, [], now) : [];
}

/** Those with these ids, which are in the same order. Each id is compared with one other; a set would work out a hash of each first. */
function withIds(invoices: readonly Invoice[], ids: readonly string[]): Invoice[] {
  let next = 0;
  const found = invoices.filter(({ id }) => next < ids.length && id === ids[next] && next++ >= 0);
  if (next < ids.length)
    throw new Error(`the ids of invoices are not in the order in which they were stored: ${ids[next]}`);
  return found;
}

const windowEndsAt = (invoice: Invoice, merchant: Merchant) =>
  new Date(invoice.updatedAt.getTime() + merchant.windowDays * DAY_MS);

const mayOpen = (invoice: Invoice, merchant: Merchant, now: Date) =>
  invoice.amount > 0 && windowEndsAt(invoice, merchant) > now;

const newCase = (invoice: Invoice, merchant: Merchant, now: Date, ports: Ports) => ({
  id: ports.newId(),
  invoiceId: invoice.id,
  customerId: invoice.customerId,
  subscriptionId: invoice.subscriptionId ?? null,
  amount: invoice.amount,
  currency: invoice.currency,
  unpaidAt: invoice.updatedAt,
  windowEndsAt: windowEndsAt(invoice, merchant),
  budget: merchant.budget,
  openedAt: now,
});

const distinct = (ids: readonly (string | undefined)[]) =>
  [...new Set(ids.filter((id): id is string => id !== undefined))].sort();
