import type { TransactionFacts } from "../tables/transactions.ts";
import { type AttemptHistory, currentCard, isKnownToUse, latestRelevantAttempt } from "./card.ts";

const INSTRUMENT_FIELDS = ["paymentMethodType", "cardBrand", "cardCountry", "cardFunding", "cardIssuer"] as const;

/** How an invoice is paid, and on whose clock; undefined is "not known". */
export type PaymentProfile = Pick<TransactionFacts, (typeof INSTRUMENT_FIELDS)[number] | "customerTimezone">;

/**
 * As the latest attempt tells. What it leaves out of the card is told by the latest attempt that surely was on the present one; what it leaves out of the
 * customer by the latest on the invoice, else by the customer's latest.
 */
export function paymentProfileOf(attempts: AttemptHistory): PaymentProfile {
  const { case: kase, invoice, transactions } = attempts;
  const latest = latestRelevantAttempt(attempts);
  if (!latest) return {};
  const isOwn = (t: TransactionFacts) => t.invoiceId === invoice.id;
  const isCharged = (t: TransactionFacts) => isOwn(t) || t.customerId === kase.customerId;
  return {
    ...instrumentOf(latest, attempts, isCharged),
    customerTimezone:
      latest.customerTimezone ??
      latestValue(transactions.filter(isOwn), "customerTimezone") ??
      latestValue(transactions.filter(isCharged), "customerTimezone"),
  };
}

function instrumentOf(latest: TransactionFacts, attempts: AttemptHistory, isCharged: (t: TransactionFacts) => boolean) {
  // As a rule it leaves out nothing, and a customer may have made thousands.
  const card = INSTRUMENT_FIELDS.every((field) => latest[field] !== undefined) ? null : currentCard(attempts);
  const onCard = card
    ? attempts.transactions.filter((t) => isCharged(t) && isKnownToUse(t, card) && isConsistent(t, latest))
    : [];
  return Object.fromEntries(INSTRUMENT_FIELDS.map((field) => [field, latest[field] ?? latestValue(onCard, field)]));
}

/** Neither denies what the other one says: the latest attempt may have named no card, and been on another. */
const isConsistent = (one: TransactionFacts, other: TransactionFacts) =>
  INSTRUMENT_FIELDS.every(
    (field) => one[field] === undefined || other[field] === undefined || one[field] === other[field],
  );

/** What the last of these attempts says that says it. */
const latestValue = <Field extends keyof PaymentProfile>(
  attempts: readonly TransactionFacts[],
  field: Field,
): PaymentProfile[Field] => attempts.findLast((t) => t[field] !== undefined)?.[field];
