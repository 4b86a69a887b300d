import { COUNTRY_PROFILES, type CountryProfile } from "./country-profiles.ts";
import { chooseWeighted, DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import type { Bill, Charge } from "./world.ts";

/** Always the same year, so calendars do not depend on the current date. */
export const YEAR_START = Date.UTC(2026, 0, 1);
const YEAR_END = Date.UTC(2027, 0, 1);

export interface Subscriber {
  number: number;
  place: CountryProfile;
  merchant: number;
  period: Bill["billingPeriodUnit"];
  amount: number;
  createdAt: number;
  leavesAt: number;
}

interface Merchant {
  dollars: readonly number[];
  windowDays: number;
  abroad: number;
  home: CountryProfile;
}

const MERCHANT_COUNT = 24;
const PRICES_USD = [
  [8, 12, 17],
  [19, 29, 49, 99],
  [35, 45],
  [24, 39, 60],
  [15, 30, 80],
  [5, 10],
] as const;

function createMerchant(seed: number, number: number): Merchant {
  return {
    dollars: PRICES_USD[number % PRICES_USD.length]!,
    windowDays: chooseWeighted(keyedUniform(seed, number, 11, 0), [
      [28, 60],
      [21, 20],
      [14, 20],
    ]),
    abroad: 0.1 + 0.4 * keyedUniform(seed, number, 12, 0),
    home: chooseWeighted(keyedUniform(seed, number, 13, 0), COUNTRY_PROFILES),
  };
}

export function createSubscribers(
  seed: number,
  customers: number,
  only?: (place: CountryProfile) => boolean,
): Subscriber[] {
  const merchants = Array.from({ length: MERCHANT_COUNT }, (_, number) => createMerchant(seed, number));
  const places = only ? COUNTRY_PROFILES.filter(([place]) => only(place)) : COUNTRY_PROFILES;
  return Array.from({ length: customers }, (_, number) => {
    const merchant = Math.floor(MERCHANT_COUNT * keyedUniform(seed, number, 21, 0) ** 1.5);
    const { home, abroad, dollars } = merchants[merchant]!;
    const stays = places.some(([place]) => place === home) && keyedUniform(seed, number, 22, 0) >= abroad;
    const place = stays ? home : chooseWeighted(keyedUniform(seed, number, 23, 0), places);
    const dollar = dollars[Math.floor(keyedUniform(seed, number, 24, 0) * dollars.length)]!;
    const createdAt = Math.floor(YEAR_START - (1.6 * keyedUniform(seed, number, 25, 0) - 0.35) * 730 * DAY_MS * 0.5);
    return {
      number,
      place,
      merchant,
      period: chooseWeighted(keyedUniform(seed, number, 26, 0), [
        ["MONTH", 92],
        ["WEEK", 1],
        ["YEAR", 7],
      ] as const),
      amount: Math.round((dollar * place.perDollar) / 100 - 0.1) * 100 + 99 - (place.perDollar > 400 ? 99 : 0),
      createdAt,
      leavesAt: Number.POSITIVE_INFINITY,
    };
  });
}

/** In order of time, each charged by `first` when it is reached. */
export function* generateBills(
  seed: number,
  subscribers: readonly Subscriber[],
  first: (bill: Omit<Bill, "first">, subscriber: Subscriber) => Charge,
): Generator<Bill> {
  const due: { at: number; subscriber: Subscriber; cycle: number }[] = [];
  for (const subscriber of subscribers) {
    for (let cycle = 0; ; cycle++) {
      const at = dueTime(seed, subscriber, cycle);
      if (at >= YEAR_END || at >= subscriber.leavesAt) break;
      if (at >= YEAR_START) due.push({ at, subscriber, cycle });
    }
  }
  due.sort((a, b) => a.at - b.at || a.subscriber.number - b.subscriber.number);
  const merchants = Array.from({ length: MERCHANT_COUNT }, (_, number) => createMerchant(seed, number));
  for (const { at, subscriber, cycle } of due) {
    const { number, place, merchant, period, amount } = subscriber;
    const bill = {
      id: `bill-${number}-${cycle}`,
      customerId: `customer-${number}`,
      subscriptionId: `subscription-${number}`,
      merchantKey: `merchant-${merchant}`,
      amount,
      currency: place.currency,
      planId: `plan-${merchant}-${amount}`,
      billingPeriod: 1,
      billingPeriodUnit: period,
      subscriptionCreatedAt: new Date(subscriber.createdAt),
      createdAt: new Date(at),
      windowDays: merchants[merchant]!.windowDays,
    };
    yield { ...bill, first: first(bill, subscriber) };
  }
}

/** Each merchant bills within a few hours of the day; the day depends on the subscription. */
function dueTime(seed: number, subscriber: Subscriber, cycle: number): number {
  const start = new Date(subscriber.createdAt);
  const hour = Math.floor(keyedUniform(seed, subscriber.merchant, 31, 0) * 24);
  const withinMs = (hour + 3 * keyedUniform(seed, subscriber.number, 32, 0)) * HOUR_MS;
  if (subscriber.period === "WEEK")
    return Math.floor(subscriber.createdAt / DAY_MS) * DAY_MS + cycle * 7 * DAY_MS + withinMs;
  const months = start.getUTCMonth() + cycle * (subscriber.period === "YEAR" ? 12 : 1);
  const lastDate = new Date(Date.UTC(start.getUTCFullYear(), months + 1, 0)).getUTCDate();
  return Date.UTC(start.getUTCFullYear(), months, Math.min(start.getUTCDate(), lastDate)) + withinMs;
}
