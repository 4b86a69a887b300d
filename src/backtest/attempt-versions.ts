import { toTimestampText } from "../domain/date-format.ts";
import type { PastAttempt } from "../domain/past-attempt.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import type { ValueFormat } from "../domain/value-format.ts";

/** Of the API's transactions, with synonyms, and the propensity. */
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

/** By precedence. */
export const SYNONYM_FIELDS = {
  id: ["id", "transactionId"],
  createdAt: ["createdAt", "attemptedAt", "at"],
  state: ["state", "status"],
  networkDeclineCode: ["networkDeclineCode", "declineCode"],
  networkAdviceCode: ["networkAdviceCode", "adviceCode"],
} as const;

export type HistoryFields = Readonly<Record<string, string>>;

export interface ParsedAttempt {
  attempt: PastAttempt;
  line: number;
  /** null if the file gives none. */
  id: string | null;
  /** In milliseconds; null if unknown. */
  updatedAt: number | null;
}

export function versionOf(fields: HistoryFields, { dates }: ValueFormat): Pick<ParsedAttempt, "id" | "updatedAt"> {
  return {
    id: fields.id?.trim() || fields.transactionId?.trim() || null,
    updatedAt: parseTimestamp(toTimestampText(fields.updatedAt ?? "", dates))?.getTime() ?? null,
  };
}

/**
 * Keeps each attempt's newest version, or the last of equal ones, as the API does. Without ids, records with the same content are
 * duplicates: merged files overlap, and an extra attempt would look like a retry on the day of the failure.
 *
 * @returns whether it is a new attempt
 */
export function keepLatestVersion(found: Map<string, ParsedAttempt>, parsed: ParsedAttempt): boolean {
  const { attempt, id } = parsed;
  // Some files use one id for all of an invoice's attempts, so attempts at other times are kept.
  const key = JSON.stringify(id === null ? attempt : [id, attempt.invoiceId, attempt.at]);
  const existing = found.get(key);
  if (!existing || (parsed.updatedAt ?? 0) >= (existing.updatedAt ?? 0)) found.set(key, parsed);
  return !existing;
}

export function findMixedInvoices(parsedAttempts: Iterable<ParsedAttempt>): Set<string> {
  const invoices = new Map<string, { customer: string | null; currency: string }>();
  const mixed = new Set<string>();
  for (const { attempt } of parsedAttempts) {
    const { invoiceId, customerId, currency } = attempt;
    // An attempt without a customer may belong to the same one.
    const customer = customerId === invoiceId ? null : customerId;
    const invoice = invoices.get(invoiceId);
    if (!invoice) invoices.set(invoiceId, { customer, currency });
    else {
      invoice.customer ??= customer;
      if (invoice.currency !== currency || (customer !== null && invoice.customer !== customer)) mixed.add(invoiceId);
    }
  }
  return mixed;
}

export const mixedInvoiceProblem = ({ invoiceId }: PastAttempt) =>
  `invoiceId "${invoiceId}" has several customers or currencies, so its attempts cannot be grouped: give each invoice a unique id`;
