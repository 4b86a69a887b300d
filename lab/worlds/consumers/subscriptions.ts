import { type BillingPlan, buildSchedule } from "../billing-schedule.ts";
import { chooseWeighted, DAY_MS, keyedUniform } from "../keyed-uniform.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEP_MS } from "../simulation-steps.ts";
import type { Bill } from "../world.ts";
import { createIssuers } from "./issuers.ts";
import { createPerson, type Person, type PopulationScales } from "./people.ts";
import { CALENDAR, YEAR_END, YEAR_START } from "./year.ts";

/** Sells to consumers. */
interface Merchant extends Pick<BillingPlan, "unit" | "period" | "date" | "hour"> {
  key: string;
  windowDays: number;
  prices: readonly number[];
  mail: number;
}

const MONTHLY_PLAN = { unit: "MONTH", period: 1, date: null, hour: null } as const;
const WEEKLY_PLAN = { unit: "WEEK", period: 1, date: null, hour: null } as const;
const MERCHANTS: readonly (readonly [Merchant, number])[] = [
  [{ ...MONTHLY_PLAN, key: "stream-one", windowDays: 21, prices: [8.99, 12.99, 17.99], mail: 0.8 }, 24],
  [{ ...MONTHLY_PLAN, key: "stream-two", windowDays: 28, prices: [6.99, 10.99], hour: 8, mail: 0.5 }, 17],
  [{ ...MONTHLY_PLAN, key: "gym-chain", windowDays: 28, prices: [19.9, 26.9, 36.9], date: 1, hour: 5, mail: 1 }, 15],
  [{ ...WEEKLY_PLAN, key: "gym-local", windowDays: 14, period: 2, prices: [14.5, 19.5], hour: 3, mail: 1.2 }, 8],
  [{ ...WEEKLY_PLAN, key: "meal-box", windowDays: 14, prices: [24, 33, 45], hour: 11, mail: 1.4 }, 3],
  [{ ...MONTHLY_PLAN, key: "beauty-box", windowDays: 21, prices: [18, 29], date: 12, hour: 14, mail: 1 }, 12],
  [{ ...MONTHLY_PLAN, key: "games", windowDays: 14, prices: [9.99, 14.99], mail: 0.9 }, 13],
  [{ ...MONTHLY_PLAN, key: "news", windowDays: 28, prices: [5, 12], hour: 0, mail: 0.6 }, 7],
];

export interface Subscription extends BillingPlan {
  person: Person;
  merchant: Merchant;
  /** Minor units. */
  amount: number;
}

export const mailReadRate = ({ mail }: Merchant) => Math.min(1.3, mail);

export const PAY_DAY_SIGN_UP_RATE = 0.5;
export const MAX_PAY_DAY_WAIT_DAYS = 31;

/** One customer in eight shares a card with another merchant's customer. */
export function createSubscriptions(
  seed: number,
  customers: number,
  scales: PopulationScales,
  random: RandomStream,
): Subscription[] {
  const issuers = createIssuers(seed, random);
  const found: Subscription[] = [];
  for (let number = 0; number < customers; number++) {
    const draw = (purpose: number) => keyedUniform(seed, number, purpose, 143);
    const other = draw(1) < 0.12 ? found.at(-1) : undefined;
    const person = other?.person ?? createPerson(seed, number, issuers, scales);
    const merchant = chooseWeighted(
      draw(2),
      MERCHANTS.filter(([each]) => each !== other?.merchant),
    );
    const price = merchant.prices[Math.floor(merchant.prices.length * draw(3))]!;
    const joins = draw(5) < 0.3 ? Math.floor(300 * draw(6)) : 0;
    const someDay = YEAR_START / DAY_MS - Math.floor(700 * draw(4) ** 2) + joins;
    const day = draw(7) < PAY_DAY_SIGN_UP_RATE ? findPayDayFrom(person, someDay) : someDay;
    found.push({
      number,
      createdAt: day * DAY_MS + Math.floor((DAY_MS / 1000) * draw(8)) * 1000,
      unit: merchant.unit,
      period: merchant.period,
      date: merchant.date,
      hour: merchant.hour,
      leavesAt: person.leavesAt * STEP_MS,
      person,
      merchant,
      amount: Math.round(price * 100 * person.country.prices),
    });
  }
  return found;
}

/** Within a month, since people sign up when they have money, or else `day`. */
export function findPayDayFrom({ payDays }: Person, day: number): number {
  const index = day - CALENDAR.firstDay;
  for (let later = 0; later < MAX_PAY_DAY_WAIT_DAYS; later++) if (payDays[index + later]) return day + later;
  return day;
}

/** In order of time, without first charges. */
export function* generateBills(seed: number, subscriptions: readonly Subscription[]): Generator<Omit<Bill, "first">> {
  for (const { at, number, cycle } of buildSchedule(seed, subscriptions, YEAR_START, YEAR_END)) {
    const { merchant, person, amount, createdAt } = subscriptions[number]!;
    yield {
      id: `bill-${number}-${cycle}`,
      customerId: `customer-${number}`,
      subscriptionId: `subscription-${number}`,
      merchantKey: merchant.key,
      amount,
      currency: person.country.currency,
      planId: `${merchant.key}-${amount}`,
      billingPeriod: merchant.period,
      billingPeriodUnit: merchant.unit,
      subscriptionCreatedAt: new Date(Math.min(createdAt, at)),
      createdAt: new Date(at),
      windowDays: merchant.windowDays,
    };
  }
}
