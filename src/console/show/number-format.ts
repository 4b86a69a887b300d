import { formatMoneyText, type MinorUnits } from "../../domain/currency.ts";

/** Does not break across lines: "USD 1,234.56". */
export const formatMoney = (minor: MinorUnits, currency: string) =>
  formatMoneyText(minor, currency).replace(" ", "\u00a0");

export const formatCount = (n: number) => n.toLocaleString("en");

/** 0.4213 becomes "42.1%". A zero whole becomes a dash. */
export const formatShare = (part: number, whole: number) =>
  whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)}%`;
