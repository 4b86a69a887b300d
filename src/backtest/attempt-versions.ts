import { toTimestampText } from "../domain/date-format.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import type { ValueFormat } from "../domain/value-format.ts";

/** What a history may say of an attempt: fields of the API's transactions, other names for some of them, and the chance with which it was made. */
export const HISTORY_FIELDS = new Set([
  "id",
  "transactionId",
  "updatedAt",
  "invoiceId",
  "customerId",
  "createdAt",
  "attemptedAt",
  "at",
  "state",
  "status",
  "amount",
  "currency",
  "initiator",
  "networkDeclineCode",
  "declineCode",
  "networkAdviceCode",
  "adviceCode",
  "paymentGatewayErrorCode",
  "paymentGatewayName",
  "paymentGatewayType",
  "paymentGatewayStatus",
  "declineCategory",
  "paymentMethodType",
  "paymentMethodId",
  "cardBrand",
  "cardCountry",
  "cardFunding",
  "cardIssuer",
  "cardFingerprint",
  "customerTimezone",
  "propensity",
]);

/** Fields that say the same: the first that a record has goes before the others. */
export const SYNONYM_FIELDS = {
  id: ["id", "transactionId"],
  createdAt: ["createdAt", "attemptedAt", "at"],
  state: ["state", "status"],
  networkDeclineCode: ["networkDeclineCode", "declineCode"],
  networkAdviceCode: ["networkAdviceCode", "adviceCode"],
} as const;

/** A record of a file, by the names of its fields. */
export type HistoryFields = Readonly<Record<string, string>>;

/** An attempt, and where a file has it. */
export interface ParsedAttempt {
  attempt: PastAttempt;
  line: number;
  /** What the file calls it; null: it has no name. */
  id: string | null;
  /** When this copy of it was made, in milliseconds; null: nobody says. */
  updatedAt: number | null;
}

/** What tells copies of an attempt apart. */
export function versionOf(fields: HistoryFields, { dates }: ValueFormat): Pick<ParsedAttempt, "id" | "updatedAt"> {
  return {
    id: fields.id?.trim() || fields.transactionId?.trim() || null,
    updatedAt: parseTimestamp(toTimestampText(fields.updatedAt ?? "", dates))?.getTime() ?? null,
  };
}

/**
 * Keeps one record of each attempt: the newest copy, of equal ones the last, as the API does. Copies have one id; without ids those that say the same are one, since
 * an invoice is hardly charged twice at one moment with one outcome, and files that were put together of overlapping ones are common. A copy that is taken for a
 * try of its own is one on the day of the failure.
 *
 * @returns whether it is an attempt that was not there before
 */
export function keepLatestVersion(found: Map<string, ParsedAttempt>, read: ParsedAttempt): boolean {
  const { attempt, id } = read;
  // Some files call all attempts of an invoice by one id: those of other moments are others.
  const key = JSON.stringify(id === null ? attempt : [id, attempt.invoiceId, attempt.at]);
  const known = found.get(key);
  if (!known || (read.updatedAt ?? 0) >= (known.updatedAt ?? 0)) found.set(key, read);
  return !known;
}

/** Ids that several customers' invoices have, or invoices in several currencies: numbers that are given anew for each customer, say. Taken together they would be retries of each other. */
export function findMixedInvoices(read: Iterable<ParsedAttempt>): Set<string> {
  const invoices = new Map<string, { customer: string | null; currency: string }>();
  const mixed = new Set<string>();
  for (const { attempt } of read) {
    const { invoiceId, customerId, currency } = attempt;
    // Of those without a customer nobody knows that they are of another one.
    const customer = customerId === invoiceId ? null : customerId;
    const known = invoices.get(invoiceId);
    if (!known) invoices.set(invoiceId, { customer, currency });
    else {
      known.customer ??= customer;
      if (known.currency !== currency || (customer !== null && known.customer !== customer)) mixed.add(invoiceId);
    }
  }
  return mixed;
}

export const mixedInvoiceProblem = ({ invoiceId }: PastAttempt) =>
  `invoiceId "${invoiceId}" has several customers or currencies, so nobody knows which attempts belong together: write ids that each invoice has alone`;
