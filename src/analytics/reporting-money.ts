import { type MinorUnits, minorDigitsOf } from "../domain/currency.ts";
import type { ReportingRates } from "../tables/reporting-rates.ts";

/** Decimals that count in a rate. */
const RATE_DIGITS = 10;

/** Decimal text, such as "1.17", counted in 10^-10. */
function scaleRate(rate: string): bigint {
  const [whole = "0", fraction = ""] = rate.split(".");
  return BigInt(whole + fraction.padEnd(RATE_DIGITS, "0").slice(0, RATE_DIGITS));
}

/**
 * Adds sums at the merchant's rates.
 *
 * @returns minor units in the reporting currency; null if a rate is missing
 */
export function convertSums(
  sums: readonly { currency: string; amount: MinorUnits }[],
  { currency, rates }: Pick<ReportingRates, "currency" | "rates">,
): bigint | null {
  let total = 0n;
  for (const sum of sums) {
    const rate = sum.currency === currency ? "1" : rates.get(sum.currency);
    if (rate === undefined) return null;
    const digits = minorDigitsOf(currency) - minorDigitsOf(sum.currency);
    const scaled = BigInt(sum.amount) * scaleRate(rate) * 10n ** BigInt(Math.max(0, digits));
    total += divideRounded(scaled, 10n ** BigInt(RATE_DIGITS + Math.max(0, -digits)));
  }
  return total;
}

/** Halves are rounded away from zero. */
const divideRounded = (value: bigint, by: bigint): bigint =>
  value < 0n ? -divideRounded(-value, by) : (value + by / 2n) / by;

/** How amounts are shown: in one currency, or in all, converted at the merchant's rates. */
export interface ReportingView {
  /** In which amounts are shown. */
  currency: string;
  /** Whether amounts in other currencies are converted and added. */
  isConverted: boolean;
  /** In the merchant's cases, the most frequent first. */
  currencies: readonly string[];
  /** Whether one view can show all currencies. */
  canConvert: boolean;
  rates: ReportingRates | null;
}

/**
 * Chooses the view: all currencies if the rates allow it, else the most frequent one.
 *
 * @param currencies  in the merchant's cases, the most frequent first
 * @param wanted  a currency, or "all"
 */
export function chooseView(
  currencies: readonly string[],
  rates: ReportingRates | null,
  wanted: string | undefined,
): ReportingView {
  const canConvert =
    rates !== null &&
    currencies.length > 1 &&
    currencies.every((each) => each === rates.currency || rates.rates.has(each));
  const isConverted = canConvert && (wanted === undefined || wanted === "all");
  const single = wanted !== undefined && wanted !== "all" ? wanted : currencies[0];
  return { currency: isConverted ? rates!.currency : (single ?? "EUR"), isConverted, currencies, canConvert, rates };
}

/** Sums in the view's currency, in minor units. */
export function sumInView<Sum extends { currency: string }>(
  sums: readonly Sum[],
  amountOf: (sum: Sum) => MinorUnits,
  view: ReportingView,
): bigint {
  if (view.isConverted)
    return convertSums(
      sums.map((sum) => ({ currency: sum.currency, amount: amountOf(sum) })),
      view.rates!,
    )!;
  return sums
    .filter(({ currency }) => currency === view.currency)
    .reduce((total, sum) => total + BigInt(amountOf(sum)), 0n);
}

/** Whether a sum belongs to the view. */
export const isInView = ({ currency }: { currency: string }, view: ReportingView): boolean =>
  view.isConverted || currency === view.currency || currency === "";
