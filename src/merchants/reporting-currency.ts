import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { type ReportingRates, readReportingRates, saveReportingRates } from "../tables/reporting-rates.ts";

export type ReportingChoice = Pick<ReportingRates, "currency" | "rates">;

/** More decimals would be cut off in sums. */
const RATE_TEXT = /^\d{1,9}(\.\d{1,10})?$/;

export const RATE_RULE = "a number above 0 with a point and at most 10 decimals, such as 1.17";

/** Returns the rate as exact decimal text: "01.1700" becomes "1.17". Null if the text is none. */
export function parseRate(text: string): string | null {
  if (!RATE_TEXT.test(text) || /^[0.]+$/.test(text)) return null;
  const [whole = "", fraction = ""] = text.split(".");
  const digits = fraction.replace(/0+$/, "");
  const units = whole.replace(/^0+(?=\d)/, "");
  return digits === "" ? units : `${units}.${digits}`;
}

export const isCurrencyCode = (text: string) => /^[A-Z]{3}$/.test(text);

/**
 * Saves the reporting currency with all its rates. The caller has locked the merchant.
 *
 * @param choice  null: no sums over currencies
 * @returns the changes, for the audit log; empty if there are none
 */
export async function saveReportingChoice(
  tx: Tx,
  merchantId: string,
  choice: ReportingChoice | null,
  ports: Ports,
): Promise<Record<string, string>> {
  const before = await readReportingRates(tx, merchantId);
  const isSameCurrency = before?.currency === choice?.currency;
  const changes = describeChanges(before, choice);
  if (Object.keys(changes).length === 0) return changes;
  const now = ports.now();
  // A rate to another currency is a new one, even if the number is the same.
  if (!isSameCurrency) await saveReportingRates(tx, merchantId, null, new Map(), now);
  await saveReportingRates(tx, merchantId, choice?.currency ?? null, choice?.rates ?? new Map(), now);
  return changes;
}

function describeChanges(before: ReportingChoice | null, after: ReportingChoice | null): Record<string, string> {
  const changes: Record<string, string> = {};
  const [past, present] = [before?.currency ?? "none", after?.currency ?? "none"];
  if (past !== present) changes["report in"] = `${past} → ${present}`;
  const rateOf = (choice: ReportingChoice | null, currency: string) => {
    const rate = choice?.rates.get(currency);
    return rate === undefined ? "none" : `${rate} ${choice!.currency}`;
  };
  for (const currency of [...new Set([...(before?.rates.keys() ?? []), ...(after?.rates.keys() ?? [])])].sort()) {
    const [old, next] = [rateOf(before, currency), rateOf(after, currency)];
    if (old !== next) changes[`rate ${currency}`] = `${old} → ${next}`;
  }
  return changes;
}
