/**
 * Minor units of a currency for one US dollar, rounded, early 2026: to compare amounts and to weigh a try's cost, never
 * to account for money. A stranger counts as cents.
 */
const PER_DOLLAR: Readonly<Record<string, number>> = {
  AED: 367,
  ARS: 145_000,
  AUD: 152,
  BRL: 520,
  CAD: 137,
  CHF: 88,
  CLP: 940,
  CNY: 710,
  COP: 410_000,
  CZK: 2300,
  DKK: 690,
  EUR: 92,
  GBP: 79,
  HKD: 780,
  HUF: 36_000,
  IDR: 1_600_000,
  ILS: 360,
  INR: 8400,
  JPY: 150,
  KRW: 1370,
  MXN: 1850,
  MYR: 440,
  NOK: 1080,
  NZD: 165,
  PHP: 5700,
  PLN: 395,
  RON: 455,
  SEK: 1040,
  SGD: 134,
  THB: 3500,
  TRY: 3400,
  TWD: 3200,
  VND: 25_000,
  ZAR: 1820,
};

/** An amount of minor units in US dollars, roughly. Some billing systems write currencies in small letters. */
export const dollarsOf = (amount: number, currency: string): number =>
  amount / (PER_DOLLAR[currency.toUpperCase()] ?? 100);
