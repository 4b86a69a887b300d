import type { Weighted } from "./keyed-random.ts";
import type { PayRhythm } from "./paydays.ts";

export type PaymentMethodType = "card" | "sepa_debit" | "ach_debit";

/** A country's properties that decide when money is there. */
export interface CustomerCountry {
  country: string;
  currency: string;
  timezone: string;
  /** Winter time all year: an hour does not move a pay day. */
  utcOffsetHours: number;
  methods: Weighted<PaymentMethodType>;
  rhythms: Weighted<PayRhythm>;
  issuers: readonly string[];
}

const monthlyPay = (day: number): PayRhythm => ({ kind: "monthly", day });

const EURO_METHODS: Weighted<PaymentMethodType> = [
  ["card", 82],
  ["sepa_debit", 18],
];
const EURO_RHYTHMS: Weighted<PayRhythm> = [
  [monthlyPay(25), 35],
  [monthlyPay(31), 30],
  [monthlyPay(1), 20],
  [monthlyPay(15), 15],
];

export const CUSTOMER_COUNTRIES: Weighted<CustomerCountry> = [
  [
    {
      country: "US",
      currency: "USD",
      timezone: "America/New_York",
      utcOffsetHours: -5,
      methods: [
        ["card", 90],
        ["ach_debit", 10],
      ],
      rhythms: [
        [{ kind: "fortnightly", weekday: 5, phase: 0 }, 25],
        [{ kind: "fortnightly", weekday: 5, phase: 1 }, 25],
        [{ kind: "weekly", weekday: 5 }, 25],
        [{ kind: "twice_monthly", days: [1, 15] }, 25],
      ],
      issuers: ["Harbor National", "First Prairie", "Union Coast", "Summit Federal"],
    },
    36,
  ],
  [
    {
      country: "GB",
      currency: "GBP",
      timezone: "Europe/London",
      utcOffsetHours: 0,
      methods: [["card", 1]],
      rhythms: [
        [monthlyPay(28), 40],
        [monthlyPay(31), 35],
        [{ kind: "weekly", weekday: 5 }, 25],
      ],
      issuers: ["Thames Bank", "Northern Mutual", "Albion Direct"],
    },
    18,
  ],
  [defineEuroCountry("DE", "Europe/Berlin", ["Elbbank", "Rheinkasse", "Isar Direkt"]), 18],
  [defineEuroCountry("FR", "Europe/Paris", ["Banque du Rhône", "Crédit Armor", "Seine Direct"]), 12],
  [defineEuroCountry("NL", "Europe/Amsterdam", ["Amstelbank", "Waddenbank"]), 8],
  [defineEuroCountry("ES", "Europe/Madrid", ["Banco Ebro", "Caja Duero"]), 8],
];

function defineEuroCountry(country: string, timezone: string, issuers: string[]): CustomerCountry {
  return {
    country,
    currency: "EUR",
    timezone,
    utcOffsetHours: 1,
    methods: EURO_METHODS,
    rhythms: EURO_RHYTHMS,
    issuers,
  };
}
