import { CUSTOMER_COUNTRIES, type PaymentMethodType } from "./customer-countries.ts";
import { DAY_MS, integerBetween, keyedRandom, pickWeighted, type Weighted } from "./keyed-random.ts";
import type { PayRhythm } from "./paydays.ts";

export type Period = "WEEK" | "MONTH" | "YEAR";

export interface Plan {
  id: string;
  /** Minor units. All currencies here have two decimals. */
  amount: number;
  period: Period;
}

export interface Customer {
  seed: number;
  number: number;
  id: string;
  country: string;
  currency: string;
  timezone: string;
  utcOffsetHours: number;
  method: PaymentMethodType;
  issuer: string;
  rhythm: PayRhythm;
  postingHour: number;
  plan: Plan;
  /** The following invoices are whole periods later. */
  firstBillAtMs: number;
}

/** As the gateway shows it. */
export interface Card {
  brand: "visa" | "mastercard" | "amex";
  bin: string;
  last4: string;
  fingerprint: string;
  funding: "CREDIT" | "DEBIT" | "PREPAID";
  expiryMonth: number;
  expiryYear: number;
}

// More weekly plans than in reality, because a two-minute demo covers twelve days and should show many invoices.
const PLANS: Weighted<Plan> = [
  [{ id: "weekly_box", amount: 1290, period: "WEEK" }, 40],
  [{ id: "basic_monthly", amount: 1900, period: "MONTH" }, 20],
  [{ id: "team_monthly", amount: 4900, period: "MONTH" }, 24],
  [{ id: "studio_monthly", amount: 9900, period: "MONTH" }, 10],
  [{ id: "team_yearly", amount: 49000, period: "YEAR" }, 6],
];

const BINS = {
  visa: ["401288", "424242", "453201", "476173"],
  mastercard: ["510510", "520082", "545454", "222300"],
  amex: ["371449", "378282"],
} as const;

/** The same seed and number give the same customer, except for the first invoice's time. */
export function createCustomer(seed: number, number: number, firstBillAtMs: number): Customer {
  const draw = (what: string) => keyedRandom(seed, "customer", number, what);
  const place = pickWeighted(draw("place"), CUSTOMER_COUNTRIES);
  return {
    seed,
    number,
    id: `cus_${String(number).padStart(6, "0")}`,
    country: place.country,
    currency: place.currency,
    timezone: place.timezone,
    utcOffsetHours: place.utcOffsetHours,
    method: pickWeighted(draw("method"), place.methods),
    issuer: place.issuers[Math.floor(draw("issuer") * place.issuers.length)]!,
    rhythm: pickWeighted(draw("rhythm"), place.rhythms),
    postingHour: integerBetween(draw("posting"), 0, 9),
    plan: pickWeighted(draw("plan"), PLANS),
    firstBillAtMs,
  };
}

/** After `generation` changes; null for direct debit. */
export function createCard(customer: Customer, generation: number): Card | null {
  if (customer.method !== "card") return null;
  const draw = (what: string) => keyedRandom(customer.seed, "card", customer.number, generation, what);
  const brand = pickWeighted(draw("brand"), [
    ["visa", 55] as const,
    ["mastercard", 38] as const,
    ["amex", customer.country === "US" ? 7 : 0] as const,
  ]);
  const expiry = new Date(customer.firstBillAtMs + integerBetween(draw("expiry"), 400, 1500) * DAY_MS);
  return {
    brand,
    bin: BINS[brand][Math.floor(draw("bin") * BINS[brand].length)]!,
    last4: String(integerBetween(draw("last4"), 0, 9999)).padStart(4, "0"),
    fingerprint: `fp_${draw("fingerprint").toString(36).slice(2, 12)}`,
    funding: pickWeighted(draw("funding"), [["DEBIT", 55] as const, ["CREDIT", 40] as const, ["PREPAID", 5] as const]),
    expiryMonth: expiry.getUTCMonth() + 1,
    expiryYear: expiry.getUTCFullYear(),
  };
}

/** Cycle 0 is the first. Shorter months use their last day. */
export function dueTimeMs(customer: Customer, cycle: number) {
  if (customer.plan.period === "WEEK") return customer.firstBillAtMs + cycle * 7 * DAY_MS;
  const first = new Date(customer.firstBillAtMs);
  const months = cycle * (customer.plan.period === "YEAR" ? 12 : 1);
  const turn = new Date(customer.firstBillAtMs);
  turn.setUTCDate(1);
  turn.setUTCMonth(first.getUTCMonth() + months);
  const lastDate = new Date(Date.UTC(turn.getUTCFullYear(), turn.getUTCMonth() + 1, 0)).getUTCDate();
  turn.setUTCDate(Math.min(first.getUTCDate(), lastDate));
  return turn.getTime();
}
