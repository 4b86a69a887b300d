import { formatMoneyText, type MinorUnits, minorDigitsOf } from "../../domain/currency.ts";

/** Does not break across lines: "USD 1,234.56". */
export const formatMoney = (minor: MinorUnits, currency: string) =>
  formatMoneyText(minor, currency).replace(" ", "\u00a0");

const SHORT_FROM = 100;

/** For headlines: without cents from 100 units on. */
export function formatMoneyShort(minor: MinorUnits, currency: string): string {
  const digits = minorDigitsOf(currency);
  const value = BigInt(minor);
  const unit = 10n ** BigInt(digits);
  const size = value < 0n ? -value : value;
  if (size < BigInt(SHORT_FROM) * unit) return formatMoney(value, currency);
  const whole = (size + unit / 2n) / unit;
  return `${value < 0n ? "−" : ""}${currency}\u00a0${whole.toLocaleString("en")}`;
}

/** For the scale of a chart: "EUR 4k". @param major  in major units */
export const formatMoneyAxis = (major: number, currency: string): string =>
  `${currency} ${major.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 })}`;

export const formatCount = (n: number) => n.toLocaleString("en");

/** 0.4213 becomes "42.1%". A zero whole becomes a dash. */
export const formatShare = (part: number, whole: number) =>
  whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)}%`;

/** An interval of a share: "62.4 to 67.1%". */
export const formatShareRange = ({ low, high }: { low: number; high: number }) =>
  `${(100 * Math.max(0, low)).toFixed(1)} to ${(100 * Math.min(1, high)).toFixed(1)}%`;
