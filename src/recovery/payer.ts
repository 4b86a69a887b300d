import type { TransactionFacts } from "../store/transactions.ts";
import { type Attempts, isSurelyOn, latestAttempt, presentCard } from "./card.ts";

const OF_CARD = ["paymentMethodType", "cardBrand", "cardCountry", "cardFunding", "cardIssuer"] as const;

/** How an invoice is paid, and on whose clock; undefined is "not known". */
export type Payer = Pick<TransactionFacts, (typeof OF_CARD)[number] | "customerTimezone">;

/**
 * As the latest attempt tells. What it leaves out of the card is told by the latest attempt that surely was on the present one; what it leaves out of the
 * customer by the latest on the invoice, else by the customer's latest.
 */
export function payerOf(attempts: Attempts): Payer {
  const { case: kase, invoice, transactions } = attempts;
  const latest = latestAttempt(attempts);
  if (!latest) return {};
  const isOwn = (t: TransactionFacts) => t.invoiceId === invoice.id;
  const isCharged = (t: TransactionFacts) => isOwn(t) || t.customerId === kase.customerId;
  return {
    ...cardOf(latest, attempts, isCharged),
    customerTimezone:
      latest.customerTimezone ??
      told(transactions.filter(isOwn), "customerTimezone") ??
      told(transactions.filter(isCharged), "customerTimezone"),
  };
}

function cardOf(latest: TransactionFacts, attempts: Attempts, isCharged: (t: TransactionFacts) => boolean) {
  // As a rule it leaves out nothing, and a customer may have made thousands.
  const card = OF_CARD.every((field) => latest[field] !== undefined) ? null : presentCard(attempts);
  const onCard = card
    ? attempts.transactions.filter((t) => isCharged(t) && isSurelyOn(t, card) && isAlike(t, latest))
    : [];
  return Object.fromEntries(OF_CARD.map((field) => [field, latest[field] ?? told(onCard, field)]));
}

/** Neither denies what the other one says: the latest attempt may have named no card, and been on another. */
const isAlike = (one: TransactionFacts, other: TransactionFacts) =>
  OF_CARD.every((field) => one[field] === undefined || other[field] === undefined || one[field] === other[field]);

/** What the last of these attempts says that says it. */
const told = <Field extends keyof Payer>(attempts: readonly TransactionFacts[], field: Field): Payer[Field] =>
  attempts.findLast((t) => t[field] !== undefined)?.[field];
