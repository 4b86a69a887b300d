import type { Case } from "../domain/case.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { findDecidingRule, type NumberedRule } from "../domain/recovery-rule.ts";
import { blocksCard } from "../engine/rules/guard.ts";
import type { Tx } from "../postgres/database.ts";
import { type CustomerInvoice, latestInvoicesOfCustomers } from "../tables/customer-invoices.ts";
import { latestDecisions } from "../tables/decisions.ts";
import { sentOnceEventKeys } from "../tables/events.ts";
import { conflictsOf } from "../tables/invoice-conflicts.ts";
import { findInvoices } from "../tables/invoices.ts";
import { type PendingRetryRequest, pendingRetryRequests, recoveryActionsOfCases } from "../tables/recovery-actions.ts";
import { listRecoveryRules } from "../tables/recovery-rules.ts";
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
import { followRule, ruleFactsOf } from "./case-rules.ts";
import { loadOutages } from "./load-outages.ts";
import type { LoadedCase } from "./loaded-case.ts";
import { paymentProfileOf } from "./payment-profile.ts";
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
  view(recoveryCase: Case): LoadedCase;
  /** Later steps of the batch must count these requests, or together they could break a network's limit. */
  recordRequests(step: Step): void;
  /** Whether one of these retries counts for the case. */
  hasRelevantRequest(recoveryCase: Case, requests: readonly PendingRetryRequest[]): boolean;
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
  const byUnpaidAt = [...cases].sort((a, b) => a.unpaidAt.getTime() - b.unpaidAt.getTime());
  const [earliest, latest] = [byUnpaidAt[0]!, byUnpaidAt.at(-1)!];
  const since = timeBefore(earliest, LEDGER_WINDOW_MS);
  const [invoices, conflicts, invoicesByCustomer, actions, sentEventKeys, decisions, rules, ownAttempts] =
    await Promise.all([
      findInvoices(tx, merchant.id, invoiceIds),
      conflictsOf(tx, merchant.id, invoiceIds),
      loadInvoicesByCustomer(tx, merchant, customerIds, timeBefore(earliest, INVOICE_HISTORY_MS)),
      recoveryActionsOfCases(tx, merchant.id, ids),
      sentOnceEventKeys(tx, merchant.id, ids),
      latestDecisions(tx, merchant.id, ids),
      listRecoveryRules(tx, merchant.id),
      transactionsForCases(tx, merchant.id, invoiceIds, customerIds, since),
    ]);
  const subscriptionIds = distinct([...invoices.values()].map(({ subscriptionId }) => subscriptionId));
  const [subscriptions, attemptsOnCards, blockingAttempts, disputed, outages] = await Promise.all([
    readSubscriptionFacts(tx, merchant.id, subscriptionIds),
    loadOthersOnCards(tx, merchant.id, ownAttempts, since),
    loadBlockingAttempts(tx, merchant.id, ownAttempts, timeBefore(latest, LEDGER_WINDOW_MS)),
    standingDisputes(
      tx,
      merchant.id,
      customerIds,
      invoiceIds,
      distinct(ownAttempts.map(({ cardFingerprint: card }) => card)),
    ),
    now ? loadOutages(tx, merchant, attachOwnAttempts(cases, invoices, ownAttempts), now) : null,
  ]);
  // Customers who share a card also share its replacement.
  const sharers = [...findCardSharers([...ownAttempts, ...attemptsOnCards])];
  const sharersAttempts = sharers.length === 0 ? [] : await transactionsForCases(tx, merchant.id, [], sharers, since);
  const all = [...new Map([...ownAttempts, ...attemptsOnCards, ...sharersAttempts].map((t) => [t.id, t])).values()];
  const transactions = indexAttempts(all);
  const actionsOf = Map.groupBy(actions, ({ caseId }) => caseId);
  const allRequests = await pendingRetryRequests(
    tx,
    merchant.id,
    distinct([...customerIds, ...all.map(({ customerId }) => customerId)]),
    distinct(all.map(({ invoiceId }) => invoiceId)),
    since,
  );
  return {
    view(recoveryCase) {
      const invoice = invoices.get(recoveryCase.invoiceId)!;
      const relevantAttempts = findRelevantAttempts(recoveryCase, transactions);
      const loaded: LoadedCase = {
        case: recoveryCase,
        merchant,
        invoice,
        subscription: (invoice.subscriptionId && subscriptions.get(invoice.subscriptionId)) || null,
        customerInvoices: (invoicesByCustomer.get(recoveryCase.customerId) ?? []).filter(
          ({ createdAt }) => createdAt > timeBefore(recoveryCase, INVOICE_HISTORY_MS),
        ),
        actions: actionsOf.get(recoveryCase.id) ?? [],
        transactions: relevantAttempts,
        blockingAttempts: selectBlockingAttempts(recoveryCase, relevantAttempts, blockingAttempts),
        storedConflict: conflicts.get(recoveryCase.invoiceId) ?? null,
        disputed: disputed.filter(
          ({ customerId, invoiceId }) =>
            invoiceId === recoveryCase.invoiceId || (customerId ?? recoveryCase.customerId) === recoveryCase.customerId,
        ),
        issuerDownAt: outages?.get(recoveryCase.id) ?? null,
        pendingRequests: findRelevantRequests(recoveryCase, relevantAttempts, allRequests),
        lastDecision: decisions.get(recoveryCase.id) ?? null,
        sentOnceEvents: {
          pauseCollection: sentEventKeys.has(`${recoveryCase.id}:pause_collection`),
          completeDunning: sentEventKeys.has(`${recoveryCase.id}:complete_dunning`),
          recoveryEnded: sentEventKeys.has(`${recoveryCase.id}:recovery_ended`),
        },
      };
      return applyRules(loaded, rules);
    },
    recordRequests({ inserted, updated, events }) {
      const decided = new Set(events.map(({ id }) => id));
      for (const { id, caseId, invoiceId, customerId, type, idealRetryTime } of [...inserted, ...updated])
        if (type === "RETRY" && decided.has(id))
          allRequests.push({ actionId: id, caseId, invoiceId, customerId, at: idealRetryTime, mayBeAnswered: true });
    },
    hasRelevantRequest: (recoveryCase, requests) =>
      findRelevantRequests(recoveryCase, findRelevantAttempts(recoveryCase, transactions), requests).length > 0,
  };
}

/** The window, the budget and the lead are then those of the rule that decides. An ended case stays as it is. */
function applyRules(loaded: LoadedCase, rules: readonly NumberedRule[]): LoadedCase {
  const { case: recoveryCase, merchant, invoice, subscription } = loaded;
  if (recoveryCase.endedAt !== null || (rules.length === 0 && recoveryCase.ruleId === null)) return loaded;
  const rule = findDecidingRule(rules, ruleFactsOf(invoice, subscription, paymentProfileOf(loaded)));
  const newRule = followRule(recoveryCase, rule, merchant);
  return {
    ...loaded,
    case: newRule ? { ...recoveryCase, ...newRule } : recoveryCase,
    merchant: rule && rule.leadMs !== null ? { ...merchant, leadMs: rule.leadMs } : merchant,
    rule,
    newRule,
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
  ownAttempts: readonly TransactionFacts[],
) {
  const found = indexAttempts(ownAttempts);
  return cases.flatMap((recoveryCase) => {
    const invoice = invoices.get(recoveryCase.invoiceId);
    return invoice ? { case: recoveryCase, invoice, transactions: findRelevantAttempts(recoveryCase, found) } : [];
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
function findRelevantAttempts(
  recoveryCase: Case,
  { invoices, customers, cards, methods }: AttemptIndex,
): TransactionFacts[] {
  const found = new Set<TransactionFacts>();
  // An attempt too old for this case adds no cards, even if another case in the batch loaded it.
  const add = (attempts: readonly TransactionFacts[] = []) => {
    for (const t of attempts) if (!isBeforeLedger(recoveryCase, t)) found.add(t);
  };
  add(invoices.get(recoveryCase.invoiceId));
  add(customers.get(recoveryCase.customerId));
  for (const { cardFingerprint, paymentMethodId } of [...found]) {
    if (cardFingerprint !== undefined) add(cards.get(cardFingerprint));
    if (paymentMethodId !== undefined) add(methods.get(paymentMethodId));
  }
  // Another customer's attempt counts only if it names its card.
  for (const id of findCardSharers([...found]))
    if (id !== recoveryCase.customerId)
      add(customers.get(id)!.filter(({ cardFingerprint }) => cardFingerprint !== undefined));
  return sortOldestFirst([...found]);
}

/** Older attempts matter only if they are on the invoice or block a card. */
const isBeforeLedger = (recoveryCase: Case, { invoiceId, createdAt }: TransactionFacts) =>
  invoiceId !== recoveryCase.invoiceId && createdAt.getTime() <= recoveryCase.unpaidAt.getTime() - LEDGER_WINDOW_MS;

/** In any case of these customers, or on these invoices. */
function findRelevantRequests(
  recoveryCase: Case,
  relevantAttempts: readonly TransactionFacts[],
  requests: readonly PendingRetryRequest[],
): PendingRetryRequest[] {
  if (requests.length === 0) return [];
  const customers = new Set([recoveryCase.customerId, ...relevantAttempts.map(({ customerId }) => customerId)]);
  const invoices = new Set(relevantAttempts.map(({ invoiceId }) => invoiceId));
  return requests.filter(({ customerId, invoiceId }) => customers.has(customerId) || invoices.has(invoiceId));
}

async function loadOthersOnCards(tx: Tx, merchantId: string, ownAttempts: readonly TransactionFacts[], since: Date) {
  const fingerprints = distinct(ownAttempts.map(({ cardFingerprint }) => cardFingerprint));
  const methods = distinct(ownAttempts.map(({ paymentMethodId }) => paymentMethodId));
  if (fingerprints.length + methods.length === 0) return [];
  return await transactionsOnCards(tx, merchantId, fingerprints, methods, since, ownAttempts);
}

/** Returns older declines that block a card, and later charges that prove it alive. */
function selectBlockingAttempts(
  recoveryCase: Case,
  attempts: readonly TransactionFacts[],
  blockingAttempts: readonly TransactionFacts[],
) {
  if (blockingAttempts.length === 0) return blockingAttempts;
  const ownAttempts = attempts.filter(
    (t) => t.invoiceId === recoveryCase.invoiceId || t.customerId === recoveryCase.customerId,
  );
  const cards = new Set(ownAttempts.map(({ cardFingerprint }) => cardFingerprint));
  return blockingAttempts.filter((t) => cards.has(t.cardFingerprint) && isBeforeLedger(recoveryCase, t));
}

/** Before `since`: declines that block one of the cards, and each such card's latest charge that went through. */
async function loadBlockingAttempts(tx: Tx, merchantId: string, ownAttempts: readonly TransactionFacts[], since: Date) {
  const fingerprints = distinct(ownAttempts.map(({ cardFingerprint }) => cardFingerprint));
  if (fingerprints.length === 0) return [];
  const declines = await latestDeclinesBefore(tx, merchantId, fingerprints, since);
  const blockingAttempts = declines.filter((t) => blocksCard(declineCodesOf(t), instrumentOf(t)));
  if (blockingAttempts.length === 0) return [];
  const blockedCards = distinct(blockingAttempts.map(({ cardFingerprint }) => cardFingerprint));
  return sortOldestFirst([...blockingAttempts, ...(await latestSuccessBefore(tx, merchantId, blockedCards, since))]);
}

const sortOldestFirst = (transactions: TransactionFacts[]) =>
  transactions.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1));

const distinct = (values: readonly (string | undefined)[]) => [
  ...new Set(values.filter((value): value is string => value !== undefined)),
];
