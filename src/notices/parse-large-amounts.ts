import { formatMajorUnits, isUnknownCurrency, minorDigitsOf } from "../domain/currency.ts";
import { toMinorUnitsText } from "../domain/value-format.ts";
import type { LargeAmount } from "../tables/large-amounts.ts";

const ENTRY = /^([A-Z]{3})\s*[=:]?\s*(\d[\d,.]*)$/;

/**
 * Reads "EUR 500, USD 1,200.50" in major units; empty text and "none" mean no amount.
 *
 * @returns a sentence that says which part is wrong
 */
export function parseLargeAmounts(text: string): LargeAmount[] | string {
  // A comma before three digits groups them.
  const entries = text.split(/[;\n]|,(?!\d)/).map((entry) => entry.trim());
  const amounts: LargeAmount[] = [];
  for (const entry of entries.filter((each) => each !== "" && each !== "none")) {
    const [, currency = "", major = ""] = ENTRY.exec(entry) ?? [];
    if (currency !== "" && isUnknownCurrency(currency))
      return `"${entry}": ${currency} is no currency of ISO 4217. Check its three letters.`;
    const [, decimals = ""] = major.split(".");
    if (decimals.length > minorDigitsOf(currency)) return `"${entry}": ${describeDecimals(currency)}.`;
    const amount = Number(toMinorUnitsText(major, currency, "point"));
    if (currency === "" || !Number.isSafeInteger(amount) || amount <= 0)
      return `"${entry}" is not an amount with a currency, such as EUR 500 or USD 1,200.50.`;
    if (amounts.some((each) => each.currency === currency)) return `${currency} occurs twice.`;
    amounts.push({ currency, amount });
  }
  return amounts.sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

function describeDecimals(currency: string): string {
  const digits = minorDigitsOf(currency);
  return digits === 0
    ? `an amount in ${currency} has no decimals`
    : `an amount in ${currency} has at most ${digits} decimals`;
}

/** As `parseLargeAmounts` reads them. */
export const formatLargeAmounts = (amounts: readonly LargeAmount[]) =>
  amounts.map(({ amount, currency }) => `${currency} ${formatMajorUnits(amount, currency)}`).join(", ");
