import type { Bill } from "../worlds/world.ts";

const DAY_MS = 86_400_000;

/** Minor units of a currency for one US dollar, rounded: only to add money of several countries. A stranger counts as cents. */
const PER_DOLLAR: Readonly<Record<string, number>> = {
  AUD: 152,
  BRL: 520,
  CAD: 137,
  CHF: 88,
  CLP: 940,
  CZK: 2300,
  DKK: 690,
  EUR: 92,
  GBP: 79,
  HUF: 36_000,
  IDR: 1_600_000,
  INR: 8400,
  JPY: 150,
  KRW: 1370,
  MXN: 1850,
  NOK: 1080,
  NZD: 165,
  PHP: 5700,
  PLN: 395,
  SEK: 1040,
  SGD: 134,
  THB: 3500,
  TRY: 3400,
  ZAR: 1820,
};

export const dollars = (bill: Pick<Bill, "amount" | "currency">) => bill.amount / (PER_DOLLAR[bill.currency] ?? 100);

/** What money is worth when it comes late: 0.4 % less for each day. */
export const lateFactor = (bill: Bill, at: number) => 1 - (0.004 * (at - bill.createdAt.getTime())) / DAY_MS;

/** Cost of one try in minor units: 0.12 USD and 0.3 % of the amount. */
export const costOf = (bill: Bill) => 0.12 * (PER_DOLLAR[bill.currency] ?? 100) + 0.003 * bill.amount;
