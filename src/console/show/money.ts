import { type Minor, moneyWords } from "../../domain/currency.ts";

/** The amount as people read it, in one line: "USD 1,234.56". */
export const money = (minor: Minor, currency: string) => moneyWords(minor, currency).replace(" ", "\u00a0");

export const count = (n: number) => n.toLocaleString("en");

/** 0.4213 is "42.1%"; of nothing there is no share. */
export const share = (part: number, whole: number) => (whole === 0 ? "–" : `${((100 * part) / whole).toFixed(1)}%`);
