import { findSubstituteCards } from "../engine/rules/substitute-cards.ts";
import type { TransactionFacts } from "../tables/transactions.ts";

/** Marks that identify a card; null if no attempt had the mark. */
export interface Card {
  fingerprint: string | null;
  paymentMethodId: string | null;
}

const namesCard = (t: TransactionFacts) => t.cardFingerprint !== undefined || t.paymentMethodId !== undefined;

const cardOf = ({ cardFingerprint, paymentMethodId }: TransactionFacts): Card => ({
  fingerprint: cardFingerprint ?? null,
  paymentMethodId: paymentMethodId ?? null,
});

/** Attempts in which cards are compared, oldest first. */
export interface AttemptHistory {
  case: { customerId: string };
  invoice: { id: string };
  transactions: readonly TransactionFacts[];
}

/** Returns the latest attempt on the invoice, or on the card that replaced its card, else the customer's latest. */
export function latestRelevantAttempt(attempts: AttemptHistory): TransactionFacts | null {
  const { case: recoveryCase, invoice, transactions } = attempts;
  const isCustomers = (t: TransactionFacts) => t.customerId === recoveryCase.customerId;
  const ownAttempt = transactions.findLast((t) => t.invoiceId === invoice.id);
  if (!ownAttempt) return transactions.findLast(isCustomers) ?? null;
  const card = currentCard(attempts);
  const laterAttempt =
    card && !mayUseCard(ownAttempt, card) && transactions.findLast((t) => isCustomers(t) && isKnownToUse(t, card));
  return laterAttempt || ownAttempt;
}

/**
 * Returns the card of the invoice's latest attempt, or its replacement: a card, new in these attempts, on which the customer was
 * charged later. A card in use before is a second card and replaces nothing. If no attempt on the invoice names a card, the
 * customer's latest counts.
 */
export function currentCard({ case: recoveryCase, invoice, transactions }: AttemptHistory): Card | null {
  const charged = transactions.filter((t) => t.invoiceId === invoice.id || t.customerId === recoveryCase.customerId);
  const ownCard = findLatestCard(charged.filter((t) => t.invoiceId === invoice.id));
  if (ownCard === null) return findLatestCard(charged);
  const lastIndex = charged.findLastIndex((t) => namesCard(t) && mayUseCard(t, ownCard));
  const isKnown = buildIsOnCardsOf(charged.slice(0, lastIndex).filter(namesCard));
  const replaced = findLatestCard(charged.slice(lastIndex + 1).filter((t) => namesCard(t) && !isKnown(t)));
  return replaced ?? findLatestCard(charged.filter((t) => isKnownToUse(t, ownCard))) ?? ownCard;
}

/** As `mayUseCard` would answer for each attempt's card. Sets keep it fast for thousands of attempts. */
function buildIsOnCardsOf(attempts: readonly TransactionFacts[]): (t: TransactionFacts) => boolean {
  const fingerprints = new Set(attempts.map((t) => t.cardFingerprint));
  const methods = new Set(attempts.map((t) => t.paymentMethodId));
  const methodsAlone = new Set(attempts.filter((t) => t.cardFingerprint === undefined).map((t) => t.paymentMethodId));
  return ({ cardFingerprint, paymentMethodId }) => {
    if (cardFingerprint === undefined) return methods.has(paymentMethodId) || methods.has(undefined);
    if (fingerprints.has(cardFingerprint)) return true;
    return paymentMethodId === undefined ? fingerprints.has(undefined) : methodsAlone.has(paymentMethodId);
  };
}

export function buildIsOnSubstituteCard({
  case: recoveryCase,
  invoice,
  transactions,
}: AttemptHistory): (t: TransactionFacts) => boolean {
  const charged = transactions.filter(
    (t) => namesCard(t) && (t.invoiceId === invoice.id || t.customerId === recoveryCase.customerId),
  );
  const found = findSubstituteCards(charged.map((t) => ({ invoiceId: t.invoiceId, card: keyOf(t) })));
  return (t) => found.size > 0 && found.has(keyOf(t));
}

/** A fingerprint with more customers is a test card or a placeholder. */
const MAX_CARD_SHARERS = 8;

/** Returns the customers charged on the same card as another one. */
export function findCardSharers(attempts: readonly TransactionFacts[]): Set<string> {
  const byCard = new Map<string, Set<string>>();
  for (const { cardFingerprint, customerId } of attempts) {
    if (cardFingerprint === undefined || customerId === undefined) continue;
    const customers = byCard.get(cardFingerprint);
    if (customers) customers.add(customerId);
    else byCard.set(cardFingerprint, new Set([customerId]));
  }
  const shared = [...byCard.values()].filter(({ size }) => size > 1 && size <= MAX_CARD_SHARERS);
  return new Set(shared.flatMap((customers) => [...customers]));
}

/**
 * Tests for a card that replaced this one. Other customers of the old card are charged on the new one now, and no customer here
 * used the new one before the last charge on the old one. Such a card replaced the old one for all its customers.
 */
export function buildIsOnReplacementCard(
  { case: recoveryCase, transactions }: AttemptHistory,
  card: Card | null,
): (t: TransactionFacts) => boolean {
  const shared = card?.fingerprint ? transactions.filter((t) => t.cardFingerprint === card.fingerprint) : [];
  const otherCustomers = findCardSharers(shared);
  otherCustomers.delete(recoveryCase.customerId);
  const found = new Set<string>();
  for (const id of otherCustomers) {
    const latest = transactions.findLast((t) => t.customerId === id && t.cardFingerprint !== undefined)!
      .cardFingerprint!;
    const firstAttempt = transactions.find((t) => t.cardFingerprint === latest)!;
    if (firstAttempt.createdAt > shared.at(-1)!.createdAt) found.add(latest);
  }
  return ({ cardFingerprint }) => cardFingerprint !== undefined && found.has(cardFingerprint);
}

const keyOf = ({ cardFingerprint, paymentMethodId }: TransactionFacts) =>
  cardFingerprint ?? `method ${paymentMethodId}`;

/** Missing marks come from earlier attempts on the same card. */
function findLatestCard(transactions: readonly TransactionFacts[]): Card | null {
  const latest = transactions.findLast(namesCard);
  if (!latest) return null;
  const card = cardOf(latest);
  if (card.fingerprint !== null && card.paymentMethodId !== null) return card;
  const completeAttempt = transactions.findLast(
    (t) => t.cardFingerprint !== undefined && t.paymentMethodId !== undefined && mayUseCard(t, card),
  );
  return completeAttempt
    ? { fingerprint: completeAttempt.cardFingerprint!, paymentMethodId: completeAttempt.paymentMethodId! }
    : card;
}

/**
 * Null if nothing can be compared. Fingerprints decide if both sides have one: the same card may be stored under a new payment
 * method, and another card under the same one.
 */
export function isKnownToUse(t: TransactionFacts, card: Card): boolean | null {
  if (card.fingerprint !== null && t.cardFingerprint !== undefined) return t.cardFingerprint === card.fingerprint;
  if (card.paymentMethodId !== null && t.paymentMethodId !== undefined)
    return t.paymentMethodId === card.paymentMethodId;
  return null;
}

/** In doubt true: waiting for a limit that does not apply costs less than breaking one. */
export const mayUseCard = (t: TransactionFacts, card: Card | null) => card === null || isKnownToUse(t, card) !== false;
