import { DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import { type Bill, type Charge, refuseUnknownOptions, type World } from "./world.ts";

interface LawAttempt {
  at: number;
  failedAt: number;
  tried: readonly number[];
  payDay: number;
  end: number;
  /** From 0. */
  customer: number;
}

interface ApprovalLaw {
  chance(attempt: LawAttempt): number;
  never?: number;
  /** 28 by default. */
  windowDays?: number;
  /** Of every decline; by default 51 for six of ten invoices, else 05. */
  code?: string;
  /** Two countries and four banks. By default all are alike. */
  apart?: boolean;
  amount?(customer: number): number;
}

const YEAR = 2025;
export const LAW_CHANGE_TIME = Date.UTC(YEAR, 6);

/** A second attempt on the same day meets nearly the same answer. */
const sameDayFactor = (at: number, tried: readonly number[]) =>
  tried.some((each) => Math.floor(each / DAY_MS) === Math.floor(at / DAY_MS)) ? 0.3 : 1;
const flatChance: ApprovalLaw["chance"] = ({ at, tried }) => 0.15 * sameDayFactor(at, tried);
const hourOf = (at: number) => new Date(at).getUTCHours();
const dateOf = (at: number) => new Date(at).getUTCDate();

const LAWS: Readonly<Record<string, ApprovalLaw>> = {
  flat: { chance: flatChance },
  night: { chance: ({ at, tried }) => (hourOf(at) >= 1 && hourOf(at) < 6 ? 0.45 : 0.03) * sameDayFactor(at, tried) },
  tuesday: { chance: ({ at, tried }) => (new Date(at).getUTCDay() === 2 ? 0.5 : 0.05) * sameDayFactor(at, tried) },
  pay25: { chance: ({ at, tried }) => (dateOf(at) >= 25 && dateOf(at) <= 28 ? 0.6 : 0.03) * sameDayFactor(at, tried) },
  moved: {
    chance: ({ at, tried }) => {
      const since = dateOf(at) - (at < LAW_CHANGE_TIME ? 25 : 10);
      return (since >= 0 && since <= 3 ? 0.6 : 0.03) * sameDayFactor(at, tried);
    },
  },
  payown: {
    chance: ({ at, tried, payDay }) =>
      ((dateOf(at) - 1 - Math.floor(payDay * 28) + 31) % 31 < 3 ? 0.65 : 0.03) * sameDayFactor(at, tried),
  },
  outage: {
    code: "91",
    chance: ({ at, failedAt, end }) => (at > failedAt - Math.log(end) * 10 * HOUR_MS ? 0.9 : 0.01),
  },
  late: { chance: ({ at, failedAt, end }) => (at > failedAt + (3 + 22 * end) * DAY_MS ? 0.8 : 0.01) },
  fatigue: {
    code: "05",
    chance: ({ at, tried }) =>
      0.45 * Math.exp(-1.5 * tried.reduce((sum, each) => sum + Math.exp(-(at - each) / (4 * DAY_MS)), 0)),
  },
  decay: {
    code: "05",
    chance: ({ at, failedAt, tried }) => 0.5 * Math.exp(-(at - failedAt) / (5 * DAY_MS)) * sameDayFactor(at, tried),
  },
  countries: {
    apart: true,
    chance: ({ at, tried, customer }) => {
      const since = dateOf(at) - (customer % 2 === 0 ? 10 : 25);
      return (since >= 0 && since <= 3 ? 0.6 : 0.03) * sameDayFactor(at, tried);
    },
  },
  banks: {
    apart: true,
    chance: ({ at, tried, customer }) =>
      (Math.floor(hourOf(at) / 6) === customer % 4 ? 0.4 : 0.03) * sameDayFactor(at, tried),
  },
  turned: {
    apart: true,
    chance: ({ at, tried, customer }) => {
      const later = at >= LAW_CHANGE_TIME && customer % 4 < 2 ? 2 : 0;
      return (Math.floor(hourOf(at) / 6) === ((customer % 4) + later) % 4 ? 0.4 : 0.03) * sameDayFactor(at, tried);
    },
  },
  amounts: {
    amount: (customer) => (customer % 2 === 0 ? 900 : 5_900),
    chance: ({ at, failedAt, tried, customer }) => {
      const days = (at - failedAt) / DAY_MS;
      return ((customer % 2 === 0 ? days < 4 : days > 12) ? 0.4 : 0.03) * sameDayFactor(at, tried);
    },
  },
  short: { windowDays: 5, chance: flatChance },
  long: { windowDays: 60, chance: flatChance },
  hard: { never: 0.7, chance: flatChance },
};

export const LAW_NAMES = Object.keys(LAWS);

const DECLINE_RATE = 0.13;
const DRAW_KEYS = { dom: 1, hour: 2, payDay: 3, first: 4, never: 5, code: 6, end: 7, charge: 8 };

interface DrawnInvoice {
  bill: Bill;
  customer: number;
  key: number;
  never: boolean;
  code: string;
  payDay: number;
  end: number;
  tried: number[];
}

/**
 * One simple law, unlike the pretrained model's worlds: how much does an engine lose where its assumptions are wrong?
 *
 * @param options.law  one of `LAW_NAMES`
 * @param options.codes  false: charges report no code, card or country
 */
export function world(options: Record<string, unknown> = {}): World {
  refuseUnknownOptions(options, ["law", "codes"]);
  const name = String(options.law ?? "flat");
  const codes = options.codes !== false;
  const law = LAWS[name];
  if (!law) throw new RangeError(`option law is one of ${LAW_NAMES.join(", ")}`);
  const { chance, never = 0.2, windowDays = 28, apart = false, amount = () => 2_900 } = law;
  const invoices = new Map<string, DrawnInvoice>();
  let seed = 0;

  const charged = (customer: number, code: string, at: Date, approved: boolean): Charge => {
    const cardFields = codes
      ? {
          cardBrand: "visa",
          cardCountry: apart && customer % 2 === 0 ? "DE" : "US",
          cardFunding: "debit",
          cardFingerprint: `fp_c${customer}`,
          ...(apart && { cardIssuer: `bank ${customer % 4}` }),
        }
      : {};
    return {
      at,
      approved,
      paymentMethodType: "card",
      ...cardFields,
      ...(codes && !approved && { networkDeclineCode: code }),
    };
  };

  function draw(customer: number, month: number): DrawnInvoice {
    const drawFor = (drawKey: number, each = month) => keyedUniform(seed, drawKey, customer, each);
    const drawForCustomer = (drawKey: number) => drawFor(drawKey, -1);
    const createdAt = new Date(
      Date.UTC(
        YEAR,
        month,
        1 + Math.floor(drawForCustomer(DRAW_KEYS.dom) * 28),
        Math.floor(drawForCustomer(DRAW_KEYS.hour) * 24),
      ),
    );
    const code = law!.code ?? (drawFor(DRAW_KEYS.code) < 0.6 ? "51" : "05");
    const customerId = `c${customer}`;
    const bill: Bill = {
      id: `b${customer}_${month}`,
      customerId,
      subscriptionId: `s${customer}`,
      merchantKey: "crude",
      amount: amount(customer),
      currency: "USD",
      planId: "plan",
      billingPeriod: 1,
      billingPeriodUnit: "MONTH",
      subscriptionCreatedAt: new Date(Date.UTC(YEAR - 1, 5, 15)),
      createdAt,
      windowDays,
      first: charged(customer, code, createdAt, drawFor(DRAW_KEYS.first) >= DECLINE_RATE),
    };
    const key = customer * 12 + month;
    return {
      bill,
      customer,
      key,
      code,
      never: drawFor(DRAW_KEYS.never) < never,
      payDay: drawForCustomer(DRAW_KEYS.payDay),
      end: drawFor(DRAW_KEYS.end),
      tried: [],
    };
  }

  function approval({ id, createdAt }: Bill, at: Date, tried: readonly Date[] = []): number {
    const invoice = invoices.get(id)!;
    if (invoice.never) return 0;
    const all = tried.length === 0 ? invoice.tried : [...invoice.tried, ...tried.map((each) => each.getTime())];
    return chance({ ...invoice, at: at.getTime(), failedAt: createdAt.getTime(), tried: all });
  }

  return {
    name: `crude, ${name}${codes ? "" : ", no codes"}`,
    *bills(given, customers) {
      seed = given;
      invoices.clear();
      for (let customer = 0; customer < customers; customer++)
        for (let month = 0; month < 12; month++) {
          const each = draw(customer, month);
          invoices.set(each.bill.id, each);
        }
      const bills = [...invoices.values()].map(({ bill }) => bill);
      yield* bills.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    },
    charge(bill, at) {
      const invoice = invoices.get(bill.id)!;
      const approved =
        keyedUniform(seed, DRAW_KEYS.charge, invoice.key, Math.floor(at.getTime() / HOUR_MS)) < approval(bill, at);
      invoice.tried.push(at.getTime());
      return charged(invoice.customer, invoice.code, at, approved);
    },
    approval,
  };
}
