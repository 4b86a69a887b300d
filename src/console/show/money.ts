import { minorDigits } from "../../domain/currency.ts";

/** An amount in minor units: a number, or text of a sum that may be larger than one can hold. */
export type Minor = number | bigint | string;

/** The amount in major units, as a plain decimal: 123456 of USD is "1234.56". Exact at any size. */
export function majorText(minor: Minor, currency: string): string {
  const digits = minorDigits(currency);
  const text = String(BigInt(minor)).padStart(digits + 1, "0");
  return digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

/** The amount as people read it: "USD 1,234.56". */
export function money(minor: Minor, currency: string): string {
  const [whole, fraction] = majorText(minor, currency).split(".");
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ",");
  return `${currency}\u00a0${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

export const count = (n: number) => n.toLocaleString("en");

/** 0.4213 is "42.1%"; of nothing there is no share. */
export const share = (part: number, whole: number) => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)}%`);
