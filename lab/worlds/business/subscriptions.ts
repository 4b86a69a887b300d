import { type BillingPlan, buildSchedule } from "../billing-schedule.ts";
import { chooseWeighted, DAY_MS, HOUR_MS, keyedUniform } from "../keyed-uniform.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEP_MS } from "../simulation-steps.ts";
import type { Bill } from "../world.ts";
import { type Company, createCompany, type Shares } from "./companies.ts";
import { createIssuers } from "./issuers.ts";
import { YEAR_END, YEAR_START } from "./year.ts";

interface Merchant {
  key: string;
  home: string;
  currency: string;
  windowDays: number;
  prices: readonly number[];
  sellsSeats: boolean;
  usage: number;
  /** As in `BillingPlan`. */
  hour: number | null;
  date: number | null;
  yearly: number;
}

const MONTHLY_PLAN = { sellsSeats: false, usage: 0, hour: null, date: null, yearly: 0 };
const SEAT_PLAN = { ...MONTHLY_PLAN, sellsSeats: true };
const AMERICAN_SELLER = { home: "US", currency: "USD" };
const MERCHANTS: readonly (readonly [Merchant, number])[] = [
  [{ ...SEAT_PLAN, ...AMERICAN_SELLER, key: "crm", windowDays: 28, prices: [25, 49], yearly: 0.1 }, 20],
  [
    {
      ...MONTHLY_PLAN,
      ...AMERICAN_SELLER,
      key: "hosting",
      windowDays: 14,
      prices: [60, 140, 320],
      usage: 0.35,
      hour: 2,
      date: 1,
    },
    17,
  ],
  [{ ...SEAT_PLAN, key: "design", home: "GB", currency: "GBP", windowDays: 21, prices: [12, 15], yearly: 0.1 }, 14],
  [
    {
      ...SEAT_PLAN,
      key: "payroll",
      home: "DE",
      currency: "EUR",
      windowDays: 28,
      prices: [9, 14],
      usage: 0.05,
      hour: 6,
    },
    12,
  ],
  [
    {
      ...MONTHLY_PLAN,
      ...AMERICAN_SELLER,
      key: "monitor",
      windowDays: 21,
      prices: [39, 99, 249],
      usage: 0.2,
      hour: 0,
      yearly: 0.05,
    },
    14,
  ],
  [
    {
      ...MONTHLY_PLAN,
      key: "books",
      home: "SG",
      currency: "USD",
      windowDays: 28,
      prices: [29, 59],
      hour: 1,
      yearly: 0.05,
    },
    10,
  ],
  [
    {
      ...SEAT_PLAN,
      key: "helpdesk",
      home: "FR",
      currency: "EUR",
      windowDays: 14,
      prices: [19, 35],
      hour: 22,
      yearly: 0.08,
    },
    13,
  ],
];

export interface Subscription extends BillingPlan {
  company: Company;
  merchant: Merchant;
  price: number;
  /** At the start. */
  seats: number;
  isAbroad: boolean;
}

const MONTHS_PER_YEAR_PRICE = 10;

export function createSubscriptions(
  seed: number,
  customers: number,
  shares: Shares,
  random: RandomStream,
): Subscription[] {
  const issuers = createIssuers(seed, random);
  return Array.from({ length: customers }, (_, number) => {
    const draw = (purpose: number) => keyedUniform(seed, number, purpose, 113);
    const merchant = chooseWeighted(draw(1), MERCHANTS);
    const price = merchant.prices[Math.floor(merchant.prices.length * draw(2))]!;
    const count = merchant.sellsSeats ? 1 + Math.floor(Math.exp(2.2 * (draw(3) + draw(4) - 0.6))) : 1;
    const isYearly = draw(5) < merchant.yearly;
    const size = price * count * (isYearly ? MONTHS_PER_YEAR_PRICE : 1);
    const company = createCompany(seed, number, size, issuers, shares);
    const joins = draw(7) < 0.3 ? Math.floor(300 * draw(8)) : 0;
    const day = YEAR_START / DAY_MS - Math.floor(900 * draw(6) ** 2) + joins;
    const hour = draw(9) < 0.8 ? 9 + 9 * draw(10) : 24 * draw(10);
    return {
      number,
      createdAt: day * DAY_MS + Math.floor((hour * HOUR_MS - company.offsets[0]!) / 1000) * 1000,
      unit: isYearly ? "YEAR" : "MONTH",
      period: 1,
      date: merchant.date,
      hour: merchant.hour,
      leavesAt: company.leavesAt * STEP_MS,
      company,
      merchant,
      price,
      seats: count,
      isAbroad: company.country.code !== merchant.home,
    };
  });
}

/** In order of time, without first charges. */
export function* generateBills(seed: number, subscriptions: readonly Subscription[]): Generator<Omit<Bill, "first">> {
  const seats = subscriptions.map((subscription) => subscription.seats);
  for (const { at, number, cycle } of buildSchedule(seed, subscriptions, YEAR_START, YEAR_END)) {
    const { merchant, price, unit, createdAt } = subscriptions[number]!;
    if (merchant.sellsSeats) seats[number] = drawSeatCount(seats[number]!, keyedUniform(seed, number, cycle, 114));
    const swing =
      merchant.usage * 2 * (keyedUniform(seed, number, cycle, 115) + keyedUniform(seed, number, cycle, 116) - 1);
    const amount = price * seats[number]! * (unit === "YEAR" ? MONTHS_PER_YEAR_PRICE : 1) * Math.exp(swing);
    yield {
      id: `bill-${number}-${cycle}`,
      customerId: `customer-${number}`,
      subscriptionId: `subscription-${number}`,
      merchantKey: merchant.key,
      amount: Math.round(amount * 100),
      currency: merchant.currency,
      planId: `${merchant.key}-${price}-${unit.toLowerCase()}`,
      billingPeriod: 1,
      billingPeriodUnit: unit,
      subscriptionCreatedAt: new Date(Math.min(createdAt, at)),
      createdAt: new Date(at),
      windowDays: merchant.windowDays,
    };
  }
}

function drawSeatCount(count: number, draw: number): number {
  if (draw < 0.09) return count + 1 + Math.floor(count * 0.15);
  return draw > 0.95 ? Math.max(1, count - 1) : count;
}
