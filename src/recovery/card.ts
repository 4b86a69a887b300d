import type { TransactionFacts } from "../store/transactions.ts";

/** What a card is told apart by; null where no attempt said it. */
export interface Card {
  fingerprint: string | null;
  paymentMethodId: string | null;
}

const named = (t: TransactionFacts) => t.cardFingerprint !== undefined || t.paymentMethodId !== undefined;

/** What cards are looked for in. */
interface Attempts {
  case: { customerId: string };
  invoice: { id: string };
  transactions: readonly TransactionFacts[];
}

/** The attempt that tells how the invoice is paid: the latest on it, else the customer's latest; null: none was seen. */
export const latestAttempt = ({ case: kase, invoice, transactions }: Attempts): TransactionFacts | null =>
  transactions.findLast((t) => t.invoiceId === invoice.id) ??
  transactions.findLast((t) => t.customerId === kase.customerId) ??
  null;

/** The card of the customer's latest attempt that names one. */
export const presentCard = ({ case: kase, invoice, transactions }: Attempts): Card | null =>
  latestCard(transactions.filter((t) => t.invoiceId === invoice.id || t.customerId === kase.customerId));

/** The card of the latest of these attempts that names one; what it leaves out is taken from earlier attempts on the same one. */
function latestCard(transactions: readonly TransactionFacts[]): Card | null {
  const latest = transactions.findLast(named);
  if (!latest) return null;
  const card = { fingerprint: latest.cardFingerprint ?? null, paymentMethodId: latest.paymentMethodId ?? null };
  if (card.fingerprint !== null && card.paymentMethodId !== null) return card;
  const fuller = transactions.findLast(
    (t) => t.cardFingerprint !== undefined && t.paymentMethodId !== undefined && isOn(t, card),
  );
  return fuller ? { fingerprint: fuller.cardFingerprint!, paymentMethodId: fuller.paymentMethodId! } : card;
}

/**
 * Whether the attempt was on this card; null when nothing can be compared. Fingerprints decide when both sides have one: the same
 * card stored anew is no new card, and another card under the same payment method is one.
 */
export function isSurelyOn(t: TransactionFacts, card: Card): boolean | null {
  if (card.fingerprint !== null && t.cardFingerprint !== undefined) return t.cardFingerprint === card.fingerprint;
  if (card.paymentMethodId !== null && t.paymentMethodId !== undefined)
    return t.paymentMethodId === card.paymentMethodId;
  return null;
}

/** In doubt it was: a limit held too often costs less than one broken. */
export const isOn = (t: TransactionFacts, card: Card | null) => card === null || isSurelyOn(t, card) !== false;
