import type { TransactionFacts } from "../tables/transactions.ts";
import { type AttemptHistory, currentCard, isKnownToUse, latestRelevantAttempt } from "./card.ts";

const INSTRUMENT_FIELDS = ["paymentMethodType", "cardBrand", "cardCountry", "cardFunding", "cardIssuer"] as const;

/** How an invoice is paid, and in which time zone; undefined if unknown. */
export type PaymentProfile = Pick<TransactionFacts, (typeof INSTRUMENT_FIELDS)[number] | "customerTimezone">;

/**
 * From the latest attempt. Missing card fields come from the latest attempt known to use the current card; missing customer
 * fields from the latest on the invoice, else from the customer's latest.
 */
export function paymentProfileOf(attempts: AttemptHistory): PaymentProfile {
  const { case: recoveryCase, invoice, transactions } = attempts;
  const latest = latestRelevantAttempt(attempts);
  if (!latest) return {};
  const isOwn = (t: TransactionFacts) => t.invoiceId === invoice.id;
  const isCharged = (t: TransactionFacts) => isOwn(t) || t.customerId === recoveryCase.customerId;
  return {
    ...instrumentOf(latest, attempts, isCharged),
    customerTimezone:
      latest.customerTimezone ??
      latestValue(transactions.filter(isOwn), "customerTimezone") ??
      latestValue(transactions.filter(isCharged), "customerTimezone"),
  };
}

function instrumentOf(latest: TransactionFacts, attempts: AttemptHistory, isCharged: (t: TransactionFacts) => boolean) {
  // The latest attempt usually has every field, and a customer may have thousands of attempts.
  const card = INSTRUMENT_FIELDS.every((field) => latest[field] !== undefined) ? null : currentCard(attempts);
  const onCard = card
    ? attempts.transactions.filter((t) => isCharged(t) && isKnownToUse(t, card) && isConsistent(t, latest))
    : [];
  return Object.fromEntries(INSTRUMENT_FIELDS.map((field) => [field, latest[field] ?? latestValue(onCard, field)]));
}

/** No field contradicts: the latest attempt may name no card and have been on another one. */
const isConsistent = (one: TransactionFacts, other: TransactionFacts) =>
  INSTRUMENT_FIELDS.every(
    (field) => one[field] === undefined || other[field] === undefined || one[field] === other[field],
  );

const latestValue = <Field extends keyof PaymentProfile>(
  attempts: readonly TransactionFacts[],
  field: Field,
): PaymentProfile[Field] => attempts.findLast((t) => t[field] !== undefined)?.[field];
