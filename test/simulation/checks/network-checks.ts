import { DAY_MS } from "../../../src/domain/durations.ts";
import type { Transaction } from "../../../src/domain/transaction.ts";
import { findBankDebit } from "../../../src/engine/rules/bank-debits.ts";
import { type CardNetwork, findCardNetwork } from "../../../src/engine/rules/card-networks.ts";
import { RESPONSE_CODES } from "../../../src/engine/rules/response-codes.ts";
import { type PushedRecord, recordViolation } from "../journal.ts";
import type { SimulatedYear } from "../simulate-year.ts";
import type { StoredAction } from "../stored-state.ts";

const NEVER_AGAIN_ADVICE = ["03", "21"];
/** The bank has newer card data, and may accept the card again. */
const NEWER_DATA_ADVICE = "01";

/** The transactions that Dunlin certainly had when it decided, and those that it may have had. */
interface KnownTransactions {
  surely: Transaction[];
  maybe: Transaction[];
}

/** Checks I8: no requested retry breaks a network's rule, given all transactions at the time of the decision. */
export function checkNetworkRules(year: SimulatedYear) {
  const { journal, books } = year;
  const pushes = journal.pushes.filter(({ kind }) => kind === "transactions");
  const byCustomer = Map.groupBy(pushes, ({ record }) => (record as Transaction).customerId);
  const delivered = new Set(books.attempts.filter(({ success }) => success).map(({ eventId }) => eventId));
  const asked = books.actions.filter(({ type, decidedAt }) => type === "RETRY" && decidedAt !== null);
  const askedOf = Map.groupBy(asked, ({ customerId }) => customerId);
  for (const action of asked) {
    const known = knownTransactionsAt(byCustomer.get(action.customerId) ?? [], action.decidedAt!.getTime());
    const earlier = askedOf
      .get(action.customerId)!
      .filter(
        ({ id, decidedAt, status }) =>
          id !== action.id && decidedAt! < action.decidedAt! && delivered.has(id) && status !== "CANCELED",
      );
    const said = findBrokenRule(year, action, known, earlier);
    if (said)
      recordViolation(
        journal,
        "I8",
        `retry ${action.id} was asked for ${action.idealRetryTime.toISOString()}: ${said}`,
        action.invoiceId,
      );
  }
}

function knownTransactionsAt(pushes: readonly PushedRecord[], atMs: number): KnownTransactions {
  const of = (some: readonly PushedRecord[]) =>
    some.map(({ record }) => record as Transaction).sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  return {
    surely: of(pushes.filter(({ ackMs }) => ackMs !== null && ackMs < atMs)),
    maybe: of(pushes.filter(({ firstMs }) => firstMs <= atMs)),
  };
}

const cardOf = (t: Transaction) => t.cardFingerprint ?? t.paymentMethodId;

function findBrokenRule(
  year: SimulatedYear,
  action: StoredAction,
  { surely, maybe }: KnownTransactions,
  earlier: readonly StoredAction[],
) {
  const present = surely.at(-1);
  // If the card is unknown, or two cards are possible, the applicable rule is unknown.
  if (!present) return findBrokenRuleWithoutTransactions(year, action, earlier);
  if (maybe.some((t) => t.createdAt >= present.createdAt && cardOf(t) !== cardOf(present))) return null;
  const onCard = surely.filter((t) => cardOf(t) === cardOf(present));
  const named = new Set(surely.map(({ recoveryActionId }) => recoveryActionId));
  const unanswered = earlier.filter(({ id }) => !named.has(id));
  const debit = findBankDebit(present.paymentMethodType);
  if (debit) {
    // An account check requests no money, so it is no presentation.
    const tries = onCard.filter((t) => t.invoiceId === action.invoiceId && t.state !== "VOIDED");
    return findBrokenDebitRule(
      action,
      tries,
      unanswered.filter(({ invoiceId }) => invoiceId === action.invoiceId).length,
    );
  }
  const network = findCardNetwork(present.cardBrand ?? null);
  const amount = (year.books.records.invoices.get(action.invoiceId) as { amount: number }).amount;
  return findHardDecline(network, onCard, action) ?? findBrokenCardLimit(network, onCard, unanswered, action, amount);
}

/** At most three presentations, in 42 or 180 days, and only after a code that allows it. */
function findBrokenDebitRule(action: StoredAction, tries: readonly Transaction[], unanswered: number) {
  const debit = findBankDebit(tries[0]?.paymentMethodType);
  if (!debit) return null;
  if (tries.length + unanswered + 1 > debit.presentationsMax)
    return `${debit.name}: presentation ${tries.length + unanswered + 1}`;
  if (action.idealRetryTime.getTime() - tries[0]!.createdAt.getTime() > debit.withinMs)
    return `${debit.name}: too late`;
  const code = tries.findLast(({ state }) => state === "FAILED")?.networkDeclineCode ?? "";
  return debit.representable.has(code) ? null : `${debit.name}: after ${code}`;
}

function findHardDecline(
  network: CardNetwork,
  onCard: readonly Transaction[],
  { invoiceId, idealRetryTime }: StoredAction,
) {
  const paidAt = Math.max(0, ...onCard.filter(({ state }) => state === "PAID").map(({ createdAt }) => +createdAt));
  // A decline on another invoice before the card's payment may have expired, 30 days later.
  const holdsFrom = Math.min(paidAt, +idealRetryTime - 30 * DAY_MS + 1);
  const failed = onCard.filter((t) => t.state === "FAILED" && (t.invoiceId === invoiceId || +t.createdAt >= holdsFrom));
  const advised = failed.find(({ networkAdviceCode }) => NEVER_AGAIN_ADVICE.includes(networkAdviceCode ?? ""));
  if (advised) return `after advice ${advised.networkAdviceCode} on the card`;
  const isHard = (t: Transaction) => RESPONSE_CODES.get(t.networkDeclineCode ?? "")?.category === 1;
  const barred = network.barsCategory1 && failed.find(isHard);
  if (barred) return `after ${barred.networkDeclineCode} on the card (${network.name})`;
  const last = failed.findLast((t) => t.invoiceId === invoiceId);
  return last && isHard(last) && last.networkAdviceCode !== NEWER_DATA_ADVICE
    ? `right after ${last.networkDeclineCode}`
    : null;
}

/** Counts every period of the limit's length that begins or ends at an attempt and contains the requested retry. */
function findBrokenCardLimit(
  network: CardNetwork,
  onCard: readonly Transaction[],
  unanswered: readonly StoredAction[],
  action: StoredAction,
  amount: number,
) {
  for (const { attemptsMax, windowMs, counts, words } of network.limits) {
    const counted = onCard.filter(
      (t) => (t.state === "FAILED" || t.state === "PENDING") && (counts === "card" || t.amount === amount),
    );
    const atMs = action.idealRetryTime.getTime();
    const moments = [
      ...counted.map((t) => t.createdAt.getTime()),
      ...unanswered.map((a) => a.idealRetryTime.getTime()),
      atMs,
    ];
    for (const startMs of moments.flatMap((moment) => [moment, moment - windowMs])) {
      if (atMs < startMs || atMs > startMs + windowMs) continue;
      const inside = moments.filter((moment) => moment >= startMs && moment <= startMs + windowMs).length;
      if (inside > attemptsMax) return `number ${inside} where ${network.name} allows at most ${words}`;
    }
  }
  return null;
}

/** Only instructions are known: with the first charge, at most as many as the strictest limits allow. */
function findBrokenRuleWithoutTransactions(
  year: SimulatedYear,
  action: StoredAction,
  earlier: readonly StoredAction[],
) {
  if (year.scenario.pushTransactions) return null;
  const moments = earlier.filter(({ invoiceId }) => invoiceId === action.invoiceId).length + 1;
  return moments > 8 ? `retry ${moments} of a budget of 8` : null;
}
