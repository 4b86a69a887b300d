import { DAY_MS } from "../domain/durations.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { endsRecovery, type Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import { type Arranged, arrange } from "../store/arrange.ts";
import { pokeCasesOfCustomers, pokeCasesOfInvoices, pokeCasesOfSubscriptions } from "../store/case-pokes.ts";
import {
  casesSaidToEnd,
  type EndedCase,
  endCases,
  endCasesOfLeft,
  lockCasesOfSubscriptions,
  openCases,
  type SaidEnd,
} from "../store/cases.ts";
import type { Database, Tx } from "../store/database.ts";
import { waitingActions, withdrawEvents } from "../store/events.ts";
import { runningExperiment } from "../store/experiments.ts";
import { findInvoices, insertNewInvoices, isOvertaken, placesInRecovery, upsertInvoices } from "../store/invoices.ts";
import { findMerchant } from "../store/merchants.ts";
import { idsOf, type Packed, release, unpack } from "../store/packed.ts";
import { upsertSubscriptions } from "../store/subscriptions.ts";
import { upsertTransactions } from "../store/transactions.ts";
import { foundKnown, mayBeAllNew } from "./all-new.ts";
import { assignCases } from "./assign-cases.ts";
import { endByPayment, paysInFull } from "./ends.ts";

/** What became of a batch. */
export interface Stored {
  /** How many records it held; of two with one id only one counts. */
  records: number;
  /** The ids of those that were known already, in this copy or a newer one. */
  known: ReadonlySet<string>;
}

/** Told after the commit which events were taken back, so that a sender that has read them already drops them. */
export type OnWithdrawn = (merchantId: string, eventIds: readonly string[]) => void;

/** Stores batches of one kind of records, all of them or none. */
export type StoreBatches<Row> = (
  db: Database,
  merchant: Merchant,
  batches: readonly Packed<Row>[],
  ports: Ports,
  onWithdrawn: OnWithdrawn,
) => Promise<Stored>;

/**
 * Store batches of subscriptions, all of them or none; of each the newest copy stays. Of cases whose subscription ended no
 * instruction that was not delivered goes out after this.
 */
export async function ingestSubscriptions(
  db: Database,
  merchant: Merchant,
  batches: readonly Packed<Subscription>[],
  ports: Ports,
  onWithdrawn: OnWithdrawn,
): Promise<Stored> {
  const subscriptions = arrange(batches);
  const over = unpack(subscriptions, ["id", "state"]).filter(({ state }) => endsRecovery(state));
  const { changed, ended, early } = await db.transaction(async (tx) => {
    const rows = await upsertSubscriptions(tx, merchant.id, subscriptions);
    // An invoice may have come before its subscription, so new ones concern cases too.
    const ids = rows.map(({ id }) => id).sort();
    const changed = new Set(ids);
    const ended = over.map(({ id }) => id).filter((id) => changed.has(id));
    const open = ids.length === 0 ? 0 : await pokeCasesOfSubscriptions(tx, merchant.id, ids, ports.newId());
    return { changed, ended, early: open === 0 ? [] : await takeBack(tx, merchant.id, ended, ports) };
  });
  const stored = storedOf(subscriptions, changed);
  release(subscriptions);
  // A case that was opened meanwhile has not seen the end, and could not be poked: now each side sees the other.
  const open = ended.length === 0 ? 0 : await pokeCasesOfSubscriptions(db, merchant.id, ended, ports.newId());
  const late = open === 0 ? [] : await db.transaction((tx) => takeBack(tx, merchant.id, ended, ports));
  const withdrawn = [...early, ...late];
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  return stored;
}

/**
 * The instructions that open cases of these subscriptions have not delivered go back, also those that a step made while this waited for it. The cases end with
 * their next step, unless the subscription is back by then: so what goes out once per case is left alone.
 */
async function takeBack(tx: Tx, merchantId: string, ended: readonly string[], ports: Ports): Promise<string[]> {
  const cases = ended.length === 0 ? [] : await lockCasesOfSubscriptions(tx, merchantId, ended);
  const waiting = cases.length === 0 ? [] : await waitingActions(tx, merchantId, cases);
  return waiting.length === 0 ? [] : await withdrawEvents(tx, merchantId, [], waiting, ports.now());
}

/**
 * Store batches of invoices, all of them or none; of each the newest copy stays. In the same transaction cases are opened
 * for what is unpaid, and ended for what is not any more: nothing of those that was not delivered goes out after the commit.
 */
export const ingestInvoices: StoreBatches<Invoice> = (db, merchant, batches, ports, onWithdrawn) =>
  storeInvoices(db, merchant, batches, ports, { onWithdrawn, opensCases: true });

/** As `ingestInvoices`, for history: what is unpaid opens no case until a newer copy is pushed. */
export const importInvoices: StoreBatches<Invoice> = (db, merchant, batches, ports, onWithdrawn) =>
  storeInvoices(db, merchant, batches, ports, { onWithdrawn, opensCases: false });

async function storeInvoices(
  db: Database,
  merchant: Merchant,
  batches: readonly Packed<Invoice>[],
  ports: Ports,
  { onWithdrawn, opensCases }: { onWithdrawn: OnWithdrawn; opensCases: boolean },
): Promise<Stored> {
  const invoices = arrange(batches);
  const unpaid = unpack(invoices, UNPAID_FIELDS, placesInRecovery(invoices));
  // Taken whether it is needed or not: which ids come next must not hang on guesses.
  const [told, ended] = [ports.newId(), ports.newId()];
  // Fixed rules look at no other bill of a customer.
  const pokeIds: PokeIds = { told: merchant.engine === "static" ? null : told, ended };
  const store = async (mayBeNew: boolean) => {
    // What is new and over concerns no case: one statement does, without a transaction.
    const isOver = unpaid.length === 0;
    if (mayBeNew && isOver && (await storeAllNew(db, merchant.id, invoices, pokeIds)))
      return { known: null, withdrawn: [] };
    return await db.transaction(async (tx) => {
      const now = ports.now();
      const mayOpen = opensCases && unpaid.length > 0;
      // Read here: a case stays with what it begins with, and who asked may know settings of some seconds ago.
      const [settings, experiment, stored] = await Promise.all([
        mayOpen ? findMerchant(tx, merchant.id) : null,
        mayOpen ? runningExperiment(tx, merchant.id) : null,
        storeNewest(tx, merchant.id, invoices, mayBeNew && !isOver, { now, pokeIds }),
      ]);
      const { known = null, again = [], ended = [] } = stored ?? {};
      const opening = (settings ? unpaid : [])
        .filter(({ id, amount }) => amount > 0 && (stored === null || stored.unpaid.has(id)))
        .map((invoice) => newCase(invoice, settings!, now, ports))
        .filter(({ windowEndsAt }) => windowEndsAt > now);
      const opened = opening.length === 0 ? null : await assignCases(tx, settings!, experiment, opening);
      return async () => {
        // By a statement that comes behind the ends: while they waited for a step it may have made events.
        const [, , , withdrawn] = await Promise.all([
          again.length === 0 ? null : pokeCasesOfInvoices(tx, merchant.id, again, ports.newId()),
          opened && openCases(tx, merchant.id, opened.assigned, ports.newId()),
          opened?.enter(),
          ended.length === 0 ? [] : withdrawEvents(tx, merchant.id, ended, [], ports.now()),
        ]);
        return { known, withdrawn };
      };
    });
  };
  const mayBeNew = mayBeAllNew(merchant.id);
  const { known, withdrawn } = await store(mayBeNew).catch((error: unknown) => {
    if (mayBeNew && isOvertaken(error)) return store(false);
    throw error;
  });
  release(invoices);
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  return { records: invoices.count, known: known === null ? NONE : new Set(known) };
}

/** New ids, in the order of the statements that poke by them. */
interface PokeIds {
  /** Other open cases of the customers, which what is pushed tells something new. null: they look at no other bill. */
  told: string | null;
  ended: string;
}

/** Store them if all are new: two thirds of the work of an upsert. */
async function storeAllNew(tx: Tx, merchantId: string, invoices: Arranged<Invoice>, pokeIds: PokeIds) {
  const areNew = await insertNewInvoices(tx, merchantId, invoices, pokeIds.told);
  if (!areNew) foundKnown(merchantId);
  return areNew;
}

/** Keep the newer copy of each, and end the cases of what left recovery; returns what changed, null when all were new. */
async function storeNewest(
  tx: Tx,
  merchantId: string,
  invoices: Arranged<Invoice>,
  mayBeNew: boolean,
  { now, pokeIds }: { now: Date; pokeIds: PokeIds },
) {
  if (mayBeNew && (await storeAllNew(tx, merchantId, invoices, pokeIds))) return null;
  const [{ known, unpaid, unpaidAgain: again }, ended] = await Promise.all([
    upsertInvoices(tx, merchantId, invoices, pokeIds.told),
    endCasesOfLeft(tx, merchantId, now, pokeIds.ended),
  ]);
  return { known, again, unpaid: new Set([...unpaid, ...again]), ended };
}

const UNPAID_FIELDS = ["id", "customerId", "subscriptionId", "amount", "currency", "updatedAt"] as const;
type Unpaid = Pick<Invoice, (typeof UNPAID_FIELDS)[number]>;

/**
 * Store batches of payment attempts, all of them or none; of each the newest copy stays. An attempt that paid its invoice in
 * full ends the case in the same transaction.
 */
export async function ingestTransactions(
  db: Database,
  merchant: Merchant,
  batches: readonly Packed<Transaction>[],
  ports: Ports,
  onWithdrawn: OnWithdrawn,
): Promise<Stored> {
  const transactions = arrange(batches);
  const attempts = unpack(transactions, ATTEMPT_FIELDS);
  const { changed, ...concerned } = await db.transaction(async (tx) => {
    const ids = new Set((await upsertTransactions(tx, merchant.id, transactions)).map(({ id }) => id));
    const changed = attempts.filter(({ id }) => ids.has(id));
    return { changed, ...(await tellCases(tx, merchant.id, changed, ports)) };
  });
  const stored = storedOf(transactions, new Set(changed.map(({ id }) => id)));
  release(transactions);
  const { withdrawn } = concerned.all
    ? concerned
    : // A case that was opened meanwhile has not seen these attempts, and could not be told: now each side sees the other.
      await db.transaction((tx) => tellCases(tx, merchant.id, changed, ports));
  const events = distinct([...concerned.withdrawn, ...withdrawn]);
  if (events.length > 0) onWithdrawn(merchant.id, events);
  return stored;
}

const NONE: ReadonlySet<string> = new Set();

const storedOf = (arranged: Arranged<{ id: string }>, changed: ReadonlySet<string>): Stored => ({
  records: arranged.count,
  known: changed.size === arranged.count ? NONE : new Set(idsOf(arranged)).difference(changed),
});

/** What cases are told of an attempt. */
const ATTEMPT_FIELDS = [
  ...(["id", "state", "invoiceId", "customerId", "amount", "currency"] as const),
  ...(["createdAt", "updatedAt"] as const),
] as const;
type Attempt = Pick<Transaction, (typeof ATTEMPT_FIELDS)[number]>;

/**
 * Let the cases look at these attempts, and end those that one of them paid.
 *
 * @returns `all`: whether every attempt found an open case; and the events that were taken back
 */
async function tellCases(tx: Tx, merchantId: string, attempts: readonly Attempt[], ports: Ports) {
  let withdrawn: string[] = [];
  if (attempts.length === 0) return { all: true, withdrawn };
  const invoiceIds = distinct(attempts.map(({ invoiceId }) => invoiceId));
  const open = await pokeCasesOfInvoices(tx, merchantId, invoiceIds, ports.newId());
  const customerIds = distinct(attempts.map(({ customerId }) => customerId));
  await pokeCasesOfCustomers(tx, merchantId, customerIds, invoiceIds, ports.newId());
  const paid = attempts.filter(({ state }) => state === "PAID");
  if (paid.length > 0) {
    const invoices = await findInvoices(tx, merchantId, distinct(paid.map(({ invoiceId }) => invoiceId)));
    const ends = new Map<string, SaidEnd>();
    for (const transaction of paid) {
      const invoice = invoices.get(transaction.invoiceId);
      if (invoice && paysInFull(transaction, invoice)) ends.set(invoice.id, endByPayment(transaction));
    }
    if (ends.size > 0) {
      const cases = await casesSaidToEnd(tx, merchantId, [...ends.values()]);
      withdrawn = await endAndWithdraw(tx, merchantId, cases, ports);
    }
  }
  return { all: open >= invoiceIds.length, withdrawn };
}

/** What an ended case has not delivered goes back, whether it ended now or before. */
async function endAndWithdraw(
  tx: Tx,
  merchantId: string,
  cases: readonly EndedCase[],
  ports: Ports,
): Promise<string[]> {
  if (cases.length === 0) return [];
  const now = ports.now();
  const ids = cases.map(({ id }) => id);
  const [, withdrawn] = await Promise.all([
    endCases(tx, merchantId, cases, now, ports.newId()),
    withdrawEvents(tx, merchantId, ids, [], now),
  ]);
  return withdrawn;
}

const newCase = (invoice: Unpaid, merchant: Merchant, now: Date, ports: Ports) => ({
  id: ports.newId(),
  invoiceId: invoice.id,
  customerId: invoice.customerId,
  subscriptionId: invoice.subscriptionId ?? null,
  amount: invoice.amount,
  currency: invoice.currency,
  unpaidAt: invoice.updatedAt,
  windowEndsAt: new Date(invoice.updatedAt.getTime() + merchant.windowDays * DAY_MS),
  budget: merchant.budget,
  openedAt: now,
});

const distinct = (ids: readonly (string | undefined)[]) =>
  [...new Set(ids.filter((id): id is string => id !== undefined))].sort();
