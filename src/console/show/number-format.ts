import { formatMoneyText, type MinorUnits } from "../../domain/currency.ts";

/** The amount as people read it, in one line: "USD 1,234.56". */
export const formatMoney = (minor: MinorUnits, currency: string) =>
  formatMoneyText(minor, currency).replace(" ", "\u00a0");

export const formatCount = (n: number) => n.toLocaleString("en");

/** 0.4213 is "42.1%"; of nothing there is no share. */
export const formatShare = (part: number, whole: number) =>
  whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)}%`;
