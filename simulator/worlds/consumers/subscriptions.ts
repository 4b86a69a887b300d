import { choose, coin, DAY_MS } from "../coin.ts";
import type { Luck } from "../luck.ts";
import { type Plan, scheduleOf } from "../schedule.ts";
import { STEP_MS } from "../steps.ts";
import type { Bill } from "../world.ts";
import { issuersOf } from "./issuers.ts";
import { type Person, personOf, type Scales } from "./people.ts";
import { CALENDAR, FROM, TO } from "./year.ts";

/** A seller of something to everybody. */
interface Merchant extends Pick<Plan, "unit" | "period" | "date" | "hour"> {
  key: string;
  windowDays: number;
  /** Major units, where prices are those of the United States. */
  prices: readonly number[];
  /** How much its mails about failures are read, beside others'. */
  mail: number;
}

const monthly = { unit: "MONTH", period: 1, date: null, hour: null } as const;
const weekly = { unit: "WEEK", period: 1, date: null, hour: null } as const;
const MERCHANTS: readonly (readonly [Merchant, number])[] = [
  [{ ...monthly, key: "stream-one", windowDays: 21, prices: [8.99, 12.99, 17.99], mail: 0.8 }, 24],
  [{ ...monthly, key: "stream-two", windowDays: 28, prices: [6.99, 10.99], hour: 8, mail: 0.5 }, 17],
  [{ ...monthly, key: "gym-chain", windowDays: 28, prices: [19.9, 26.9, 36.9], date: 1, hour: 5, mail: 1 }, 15],
  [{ ...weekly, key: "gym-local", windowDays: 14, period: 2, prices: [14.5, 19.5], hour: 3, mail: 1.2 }, 8],
  [{ ...weekly, key: "meal-box", windowDays: 14, prices: [24, 33, 45], hour: 11, mail: 1.4 }, 3],
  [{ ...monthly, key: "beauty-box", windowDays: 21, prices: [18, 29], date: 12, hour: 14, mail: 1 }, 12],
  [{ ...monthly, key: "games", windowDays: 14, prices: [9.99, 14.99], mail: 0.9 }, 13],
  [{ ...monthly, key: "news", windowDays: 28, prices: [5, 12], hour: 0, mail: 0.6 }, 7],
];

export interface Subscription extends Plan {
  person: Person;
  merchant: Merchant;
  /** Minor units. */
  amount: number;
}

/** How much a merchant's mails are read: more than so much more than others' none is. */
export const mailOf = ({ mail }: Merchant) => Math.min(1.3, mail);

/** Share of people who sign up on a pay day, and within how many days it has to come. */
export const ON_PAY_DAY = 0.5;
export const PAY_DAY_WITHIN = 31;

/** Who pays whom, drawn from the seed. One customer in eight is a person who pays another merchant from the same card. */
export function subscriptionsOf(seed: number, customers: number, scales: Scales, luck: Luck): Subscription[] {
  const issuers = issuersOf(seed, luck);
  const found: Subscription[] = [];
  for (let number = 0; number < customers; number++) {
    const draw = (what: number) => coin(seed, number, what, 143);
    const other = draw(1) < 0.12 ? found.at(-1) : undefined;
    const person = other?.person ?? personOf(seed, number, issuers, scales);
    const merchant = choose(
      draw(2),
      MERCHANTS.filter(([each]) => each !== other?.merchant),
    );
    const price = merchant.prices[Math.floor(merchant.prices.length * draw(3))]!;
    const joins = draw(5) < 0.3 ? Math.floor(300 * draw(6)) : 0;
    const someDay = FROM / DAY_MS - Math.floor(700 * draw(4) ** 2) + joins;
    const day = draw(7) < ON_PAY_DAY ? payDayFrom(person, someDay) : someDay;
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

/** People sign up when they have money: the first pay day of the month to come, or `day` where none is known. */
export function payDayFrom({ payDays }: Person, day: number): number {
  const index = day - CALENDAR.firstDay;
  for (let later = 0; later < PAY_DAY_WITHIN; later++) if (payDays[index + later]) return day + later;
  return day;
}

/** The bills of the year in order of time, without their first charges. */
export function* billsOf(seed: number, subscriptions: readonly Subscription[]): Generator<Omit<Bill, "first">> {
  for (const { at, number, cycle } of scheduleOf(seed, subscriptions, FROM, TO)) {
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
