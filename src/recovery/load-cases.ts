import type { Case } from "../domain/case.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { blocksCard } from "../engine/rules/guard.ts";
import type { Tx } from "../postgres/database.ts";
import { type CustomerInvoice, latestInvoicesOfCustomers } from "../tables/customer-invoices.ts";
import { latestDecisions } from "../tables/decisions.ts";
import { sentOnceEventKeys } from "../tables/events.ts";
import { conflictsOf } from "../tables/invoice-conflicts.ts";
import { findInvoices } from "../tables/invoices.ts";
import { type PendingRetryRequest, pendingRetryRequests, recoveryActionsOfCases } from "../tables/recovery-actions.ts";
import { readSubscriptionFacts } from "../tables/subscriptions.ts";
import {
  latestDeclinesBefore,
  latestSuccessBefore,
  standingDisputes,
  type TransactionFacts,
  transactionsForCases,
  transactionsOnCards,
} from "../tables/transactions.ts";
import { declineCodesOf, instrumentOf } from "./build-decision-facts.ts";
import { findCardSharers } from "./card.ts";
import { loadOutages } from "./load-outages.ts";
import type { LoadedCase } from "./loaded-case.ts";
import type { Step } from "./step.ts";

/**
 * Before a case: 180 days of ACH re-presentments is the longest rule window. Declines that block a card are found however old
 * they are. Counted from the case, not now: a plan changes only with facts.
 */
export const LEDGER_WINDOW_MS = 180 * DAY_MS;
/** A year of invoices with some margin. Older ones say little about how a customer pays today. */
export const INVOICE_HISTORY_MS = 400 * DAY_MS;
const timeBefore = ({ unpaidAt }: Case, ms: number) => new Date(unpaidAt.getTime() - ms);

export interface LoadedBatch {
  /** Includes retries that earlier steps of the batch requested. */
  view(kase: Case): LoadedCase;
  /** Later steps of the batch must count these requests, or together they could break a network's limit. */
  note(step: Step): void;
  /** Whether one of these retries counts for the case. */
  isConcerned(kase: Case, asks: readonly PendingRetryRequest[]): boolean;
}

/**
 * The caller has locked the cases. Others may decide meanwhile on other cases of the same customers.
 *
 * @param now  when the cases are decided; without it outages are not loaded
 */
export async function loadCases(tx: Tx, merchant: Merchant, cases: readonly Case[], now?: Date): Promise<LoadedBatch> {
  const ids = cases.map(({ id }) => id);
  const invoiceIds = cases.map(({ invoiceId }) => invoiceId);
  const customerIds = distinct(cases.map(({ customerId }) => customerId));
  // Loads all that any case needs. Each case then drops what is too old for it, so it sees the same facts in every batch.
  const byBeginning = [...cases].sort((a, b) => a.unpaidAt.getTime() - b.unpaidAt.getTime());
  const [first, last] = [byBeginning[0]!, byBeginning.at(-1)!];
  const since = timeBefore(first, LEDGER_WINDOW_MS);
  const [invoices, conflicts, bills, actions, told, decisions, own] = await Promise.all([
    findInvoices(tx, merchant.id, invoiceIds),
    conflictsOf(tx, merchant.id, invoiceIds),
    loadInvoicesByCustomer(tx, merchant, customerIds, timeBefore(first, INVOICE_HISTORY_MS)),
    recoveryActionsOfCases(tx, merchant.id, ids),
    sentOnceEventKeys(tx, merchant.id, ids),
    latestDecisions(tx, merchant.id, ids),
    transactionsForCases(tx, merchant.id, invoiceIds, customerIds, since),
  ]);
  const subscriptionIds = distinct([...invoices.values()].map(({ subscriptionId }) => subscriptionId));
  const [subscriptions, others, barring, disputed, outages] = await Promise.all([
    readSubscriptionFacts(tx, merchant.id, subscriptionIds),
    loadOthersOnCards(tx, merchant.id, own, since),
    loadBlockingAttempts(tx, merchant.id, own, timeBefore(last, LEDGER_WINDOW_MS)),
    standingDisputes(tx, merchant.id, customerIds, invoiceIds, distinct(own.map(({ cardFingerprint: card }) => card))),
    now ? loadOutages(tx, merchant, attachOwnAttempts(cases, invoices, own), now) : null,
  ]);
  // Customers who share a card also share its replacement.
  const sharers = [...findCardSharers([...own, ...others])];
  const theirs = sharers.length === 0 ? [] : await transactionsForCases(tx, merchant.id, [], sharers, since);
  const all = [...new Map([...own, ...others, ...theirs].map((t) => [t.id, t])).values()];
  const transactions = indexAttempts(all);
  const actionsOf = Map.groupBy(actions, ({ caseId }) => caseId);
  const asks = await pendingRetryRequests(
    tx,
    merchant.id,
    distinct([...customerIds, ...all.map(({ customerId }) => customerId)]),
    distinct(all.map(({ invoiceId }) => invoiceId)),
    since,
  );
  return {
    view(kase) {
      const invoice = invoices.get(kase.invoiceId)!;
      const concerning = findConcerningAttempts(kase, transactions);
      return {
        case: kase,
        merchant,
        invoice,
        subscription: (invoice.subscriptionId && subscriptions.get(invoice.subscriptionId)) || null,
        bills: (bills.get(kase.customerId) ?? []).filter(
          ({ createdAt }) => createdAt > timeBefore(kase, INVOICE_HISTORY_MS),
        ),
        actions: actionsOf.get(kase.id) ?? [],
        transactions: concerning,
        barring: selectBlockingAttempts(kase, concerning, barring),
        storedConflict: conflicts.get(kase.invoiceId) ?? null,
        disputed: disputed.filter(
          ({ customerId, invoiceId }) =>
            invoiceId === kase.invoiceId || (customerId ?? kase.customerId) === kase.customerId,
        ),
        issuerDownAt: outages?.get(kase.id) ?? null,
        asks: findAsks(kase, concerning, asks),
        lastDecision: decisions.get(kase.id) ?? null,
        told: {
          pauseCollection: told.has(`${kase.id}:pause_collection`),
          completeDunning: told.has(`${kase.id}:complete_dunning`),
        },
      };
    },
    note({ inserted, updated, events }) {
      const decided = new Set(events.map(({ id }) => id));
      for (const { id, caseId, invoiceId, customerId, type, idealRetryTime } of [...inserted, ...updated])
        if (type === "RETRY" && decided.has(id))
          asks.push({ actionId: id, caseId, invoiceId, customerId, at: idealRetryTime, mayBeAnswered: true });
    },
    isConcerned: (kase, others) => findAsks(kase, findConcerningAttempts(kase, transactions), others).length > 0,
  };
}

/** Only the learned engine uses them. */
async function loadInvoicesByCustomer(tx: Tx, merchant: Merchant, customerIds: readonly string[], since: Date) {
  if (merchant.engine === "static") return new Map<string, CustomerInvoice[]>();
  return Map.groupBy(
    await latestInvoicesOfCustomers(tx, merchant.id, customerIds, since),
    ({ customerId }) => customerId,
  );
}

/** Leaves out cases whose invoice was deleted. */
function attachOwnAttempts(
  cases: readonly Case[],
  invoices: ReadonlyMap<string, Invoice>,
  own: readonly TransactionFacts[],
) {
  const found = indexAttempts(own);
  return cases.flatMap((kase) => {
    const invoice = invoices.get(kase.invoiceId);
    return invoice ? { case: kase, invoice, transactions: findConcerningAttempts(kase, found) } : [];
  });
}

type AttemptIndex = Record<"invoices" | "customers" | "cards" | "methods", Map<string | undefined, TransactionFacts[]>>;

const indexAttempts = (all: readonly TransactionFacts[]): AttemptIndex => ({
  invoices: Map.groupBy(all, ({ invoiceId }) => invoiceId),
  customers: Map.groupBy(all, ({ customerId }) => customerId),
  cards: Map.groupBy(all, ({ cardFingerprint }) => cardFingerprint),
  methods: Map.groupBy(all, ({ paymentMethodId }) => paymentMethodId),
});

/** On the invoice, by the customer, on cards of those, and on other cards of the few customers who share one; oldest first. */
function findConcerningAttempts(kase: Case, { invoices, customers, cards, methods }: AttemptIndex): TransactionFacts[] {
  const found = new Set<TransactionFacts>();
  // An attempt too old for this case adds no cards, even if another case in the batch loaded it.
  const add = (attempts: readonly TransactionFacts[] = []) => {
    for (const t of attempts) if (!isBeforeLedger(kase, t)) found.add(t);
  };
  add(invoices.get(kase.invoiceId));
  add(customers.get(kase.customerId));
  for (const { cardFingerprint, paymentMethodId } of [...found]) {
    if (cardFingerprint !== undefined) add(cards.get(cardFingerprint));
    if (paymentMethodId !== undefined) add(methods.get(paymentMethodId));
  }
  // Another customer's attempt counts only if it names its card.
  for (const id of findCardSharers([...found]))
    if (id !== kase.customerId) add(customers.get(id)!.filter(({ cardFingerprint }) => cardFingerprint !== undefined));
  return sortOldestFirst([...found]);
}

/** Older attempts matter only if they are on the invoice or block a card. */
const isBeforeLedger = (kase: Case, { invoiceId, createdAt }: TransactionFacts) =>
  invoiceId !== kase.invoiceId && createdAt.getTime() <= kase.unpaidAt.getTime() - LEDGER_WINDOW_MS;

/** In any case of these customers, or on these invoices. */
function findAsks(
  kase: Case,
  concerning: readonly TransactionFacts[],
  asks: readonly PendingRetryRequest[],
): PendingRetryRequest[] {
  if (asks.length === 0) return [];
  const customers = new Set([kase.customerId, ...concerning.map(({ customerId }) => customerId)]);
  const invoices = new Set(concerning.map(({ invoiceId }) => invoiceId));
  return asks.filter(({ customerId, invoiceId }) => customers.has(customerId) || invoices.has(invoiceId));
}

async function loadOthersOnCards(tx: Tx, merchantId: string, own: readonly TransactionFacts[], since: Date) {
  const fingerprints = distinct(own.map(({ cardFingerprint }) => cardFingerprint));
  const methods = distinct(own.map(({ paymentMethodId }) => paymentMethodId));
  if (fingerprints.length + methods.length === 0) return [];
  return await transactionsOnCards(tx, merchantId, fingerprints, methods, since, own);
}

/** Returns older declines that block a card, and later charges that prove it alive. */
function selectBlockingAttempts(
  kase: Case,
  attempts: readonly TransactionFacts[],
  barring: readonly TransactionFacts[],
) {
  if (barring.length === 0) return barring;
  const own = attempts.filter((t) => t.invoiceId === kase.invoiceId || t.customerId === kase.customerId);
  const cards = new Set(own.map(({ cardFingerprint }) => cardFingerprint));
  return barring.filter((t) => cards.has(t.cardFingerprint) && isBeforeLedger(kase, t));
}

/** Before `since`: declines that block one of the cards, and each such card's latest charge that went through. */
async function loadBlockingAttempts(tx: Tx, merchantId: string, own: readonly TransactionFacts[], since: Date) {
  const fingerprints = distinct(own.map(({ cardFingerprint }) => cardFingerprint));
  if (fingerprints.length === 0) return [];
  const declines = await latestDeclinesBefore(tx, merchantId, fingerprints, since);
  const barring = declines.filter((t) => blocksCard(declineCodesOf(t), instrumentOf(t)));
  if (barring.length === 0) return [];
  const barred = distinct(barring.map(({ cardFingerprint }) => cardFingerprint));
  return sortOldestFirst([...barring, ...(await latestSuccessBefore(tx, merchantId, barred, since))]);
}

const sortOldestFirst = (transactions: TransactionFacts[]) =>
  transactions.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));

const distinct = (values: readonly (string | undefined)[]) => [
  ...new Set(values.filter((value): value is string => value !== undefined)),
];
