import { findSubstituteCards } from "../engine/rules/substitute-cards.ts";
import type { TransactionFacts } from "../tables/transactions.ts";

/** What a card is told apart by; null where no attempt said it. */
export interface Card {
  fingerprint: string | null;
  paymentMethodId: string | null;
}

const namesCard = (t: TransactionFacts) => t.cardFingerprint !== undefined || t.paymentMethodId !== undefined;

const cardOf = ({ cardFingerprint, paymentMethodId }: TransactionFacts): Card => ({
  fingerprint: cardFingerprint ?? null,
  paymentMethodId: paymentMethodId ?? null,
});

/** What cards are looked for in; attempts oldest first. */
export interface AttemptHistory {
  case: { customerId: string };
  invoice: { id: string };
  transactions: readonly TransactionFacts[];
}

/** The attempt that tells how the invoice is paid: the latest on it, or on the card that has replaced that one's, else the customer's latest; null: none was seen. */
export function latestRelevantAttempt(attempts: AttemptHistory): TransactionFacts | null {
  const { case: kase, invoice, transactions } = attempts;
  const isCustomers = (t: TransactionFacts) => t.customerId === kase.customerId;
  const own = transactions.findLast((t) => t.invoiceId === invoice.id);
  if (!own) return transactions.findLast(isCustomers) ?? null;
  const card = currentCard(attempts);
  const later = card && !mayUseCard(own, card) && transactions.findLast((t) => isCustomers(t) && isKnownToUse(t, card));
  return later || own;
}

/**
 * The card that the invoice was tried on last, or what has replaced it: a card that the customer was charged on later, and that nobody had seen before. One
 * that had been in use is a second card, and says nothing of this invoice. An invoice of which no attempt names a card is paid as the customer was charged last.
 */
export function currentCard({ case: kase, invoice, transactions }: AttemptHistory): Card | null {
  const charged = transactions.filter((t) => t.invoiceId === invoice.id || t.customerId === kase.customerId);
  const own = findLatestCard(charged.filter((t) => t.invoiceId === invoice.id));
  if (own === null) return findLatestCard(charged);
  const last = charged.findLastIndex((t) => namesCard(t) && mayUseCard(t, own));
  const isKnown = buildIsOnCardsOf(charged.slice(0, last).filter(namesCard));
  const replaced = findLatestCard(charged.slice(last + 1).filter((t) => namesCard(t) && !isKnown(t)));
  return replaced ?? findLatestCard(charged.filter((t) => isKnownToUse(t, own))) ?? own;
}

/** Tells whether an attempt was on one of the cards of these, as `mayUseCard` would of each: by sets, since a customer may have made thousands. */
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

/** Tells which attempts were on a card that stands in for another one. */
export function buildIsOnSubstituteCard({
  case: kase,
  invoice,
  transactions,
}: AttemptHistory): (t: TransactionFacts) => boolean {
  const charged = transactions.filter(
    (t) => namesCard(t) && (t.invoiceId === invoice.id || t.customerId === kase.customerId),
  );
  const found = findSubstituteCards(charged.map((t) => ({ invoiceId: t.invoiceId, card: keyOf(t) })));
  return (t) => found.size > 0 && found.has(keyOf(t));
}

/** What more customers than these are charged on is no shared card: a test card, or a word in place of a fingerprint. */
const MAX_CARD_SHARERS = 8;

/** The customers who were charged on the same card as another one of these attempts. */
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
 * Tells which attempts were on a card that has replaced this one for others who pay with it, and so for all: they are charged on it now, and nobody who is seen
 * here was before the last charge on this one.
 */
export function buildIsOnReplacementCard(
  { case: kase, transactions }: AttemptHistory,
  card: Card | null,
): (t: TransactionFacts) => boolean {
  const shared = card?.fingerprint ? transactions.filter((t) => t.cardFingerprint === card.fingerprint) : [];
  const others = findCardSharers(shared);
  others.delete(kase.customerId);
  const found = new Set<string>();
  for (const id of others) {
    const latest = transactions.findLast((t) => t.customerId === id && t.cardFingerprint !== undefined)!
      .cardFingerprint!;
    const first = transactions.find((t) => t.cardFingerprint === latest)!;
    if (first.createdAt > shared.at(-1)!.createdAt) found.add(latest);
  }
  return ({ cardFingerprint }) => cardFingerprint !== undefined && found.has(cardFingerprint);
}

const keyOf = ({ cardFingerprint, paymentMethodId }: TransactionFacts) =>
  cardFingerprint ?? `method ${paymentMethodId}`;

/** The card of the latest of these attempts that names one; what it leaves out is taken from earlier attempts on the same one. */
function findLatestCard(transactions: readonly TransactionFacts[]): Card | null {
  const latest = transactions.findLast(namesCard);
  if (!latest) return null;
  const card = cardOf(latest);
  if (card.fingerprint !== null && card.paymentMethodId !== null) return card;
  const fuller = transactions.findLast(
    (t) => t.cardFingerprint !== undefined && t.paymentMethodId !== undefined && mayUseCard(t, card),
  );
  return fuller ? { fingerprint: fuller.cardFingerprint!, paymentMethodId: fuller.paymentMethodId! } : card;
}

/**
 * Whether the attempt was on this card; null when nothing can be compared. Fingerprints decide when both sides have one: the same
 * card stored anew is no new card, and another card under the same payment method is one.
 */
export function isKnownToUse(t: TransactionFacts, card: Card): boolean | null {
  if (card.fingerprint !== null && t.cardFingerprint !== undefined) return t.cardFingerprint === card.fingerprint;
  if (card.paymentMethodId !== null && t.paymentMethodId !== undefined)
    return t.paymentMethodId === card.paymentMethodId;
  return null;
}

/** In doubt it was: a limit held too often costs less than one broken. */
export const mayUseCard = (t: TransactionFacts, card: Card | null) => card === null || isKnownToUse(t, card) !== false;
