import type { Case } from "../domain/case.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { Tx } from "../store/database.ts";
import { casesTold } from "../store/events.ts";
import { findInvoices } from "../store/invoices.ts";
import { type Ask, asksOfCustomers, recoveryActionsOfCases } from "../store/recovery-actions.ts";
import { subscriptionStates } from "../store/subscriptions.ts";
import { transactionsForCases, transactionsOnCards } from "../store/transactions.ts";
import type { CaseView } from "./step.ts";

/** The longest window a rule counts over: ACH re-presentments, 180 days. */
const LEDGER_MS = 180 * 86_400_000;

/**
 * Everything a step needs to know about these cases, read in a few statements for all of them. Two cases of one customer
 * or card never go into the same batch: each must see what the other asked for. Those left out stay due.
 */
export async function loadViews(tx: Tx, merchant: Merchant, taken: readonly Case[], now: Date): Promise<CaseView[]> {
  const cases = oneForEach(taken, (kase) => [kase.customerId]);
  const ids = cases.map(({ id }) => id);
  const customerIds = cases.map(({ customerId }) => customerId);
  const invoiceIds = cases.map(({ invoiceId }) => invoiceId);
  const since = new Date(now.getTime() - LEDGER_MS);
  const invoices = await findInvoices(tx, merchant.id, invoiceIds);
  const subscriptionIds = [...invoices.values()].flatMap(({ subscriptionId }) => subscriptionId ?? []);
  const states = await subscriptionStates(tx, merchant.id, subscriptionIds);
  const actions = await recoveryActionsOfCases(tx, merchant.id, ids);
  const told = await casesTold(tx, merchant.id, ids);
  const transactions = await withOthersOnCards(
    tx,
    merchant.id,
    await transactionsForCases(tx, merchant.id, invoiceIds, customerIds, since),
    since,
  );
  const asks = await asksOfCustomers(tx, merchant.id, customerIds, since);
  const views = cases.map((kase) => {
    const invoice = invoices.get(kase.invoiceId)!;
    return {
      case: kase,
      merchant,
      invoice,
      subscriptionState: (invoice.subscriptionId && states.get(invoice.subscriptionId)) || null,
      actions: actions.filter(({ caseId }) => caseId === kase.id),
      ...concerning(kase, transactions, asks),
      told: {
        pauseCollection: told.has(`${kase.id}:pause_collection`),
        completeDunning: told.has(`${kase.id}:complete_dunning`),
      },
    };
  });
  return oneForEach(views, (view) => view.transactions.flatMap(cardKeys));
}

async function withOthersOnCards(tx: Tx, merchantId: string, own: readonly Transaction[], since: Date) {
  const fingerprints = distinct(own.map(({ cardFingerprint }) => cardFingerprint));
  const methods = distinct(own.map(({ paymentMethodId }) => paymentMethodId));
  if (fingerprints.length + methods.length === 0) return own;
  const onCards = await transactionsOnCards(tx, merchantId, fingerprints, methods, since);
  const all = new Map([...own, ...onCards].map((transaction) => [transaction.id, transaction]));
  return [...all.values()].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
}

function concerning(kase: Case, transactions: readonly Transaction[], asks: readonly Ask[]) {
  const own = transactions.filter(
    ({ invoiceId, customerId }) => invoiceId === kase.invoiceId || customerId === kase.customerId,
  );
  const cards = new Set(own.flatMap(cardKeys));
  return {
    transactions: transactions.filter((t) => own.includes(t) || cardKeys(t).some((key) => cards.has(key))),
    asks: asks.filter(({ customerId }) => customerId === kase.customerId),
  };
}

const cardKeys = ({ cardFingerprint, paymentMethodId }: Transaction) => [
  ...(cardFingerprint === undefined ? [] : [`card ${cardFingerprint}`]),
  ...(paymentMethodId === undefined ? [] : [`method ${paymentMethodId}`]),
];

function oneForEach<T>(items: readonly T[], keysOf: (item: T) => readonly string[]): T[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const keys = keysOf(item);
    if (keys.some((key) => seen.has(key))) return false;
    for (const key of keys) seen.add(key);
    return true;
  });
}

const distinct = (values: readonly (string | undefined)[]) => [
  ...new Set(values.filter((value): value is string => value !== undefined)),
];
