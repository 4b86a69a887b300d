import { type Account, advanceAccount, coverageChances, STEPS_PER_DAY } from "./account-balance.ts";
import { chooseWeighted, DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import { buildIsPayDay } from "./pay-rhythm.ts";
import { createSubscribers, generateBills, type Subscriber, YEAR_START } from "./subscriber-billing.ts";
import { type Bill, type Charge, type CreateWorld, parseNumberOptions } from "./world.ts";

type Scheme = "sepa_debit" | "ach_debit" | "bacs_debit";

interface DebitCustomer extends Subscriber {
  scheme: Scheme;
  account: Account | null;
  need: number;
  overdraft: number;
  endsAt: number;
  endCode: string;
}

const FUNDS_CODES: Readonly<Record<Scheme, readonly string[]>> = {
  sepa_debit: ["AM04", "AM04", "AM04", "MS03"],
  ach_debit: ["R01", "R01", "R01", "R01", "R09"],
  bacs_debit: ["0"],
};
/** A closed account, an unauthorized debit, or another permanent reason. */
const FINAL_CODES: Readonly<Record<Scheme, readonly string[]>> = {
  sepa_debit: ["AC04", "MD01", "AC06"],
  ach_debit: ["R02", "R07", "R10"],
  bacs_debit: ["B", "1", "2"],
};

/**
 * World 3: bank debits, booked on the next banking morning and judged by the balance then, with an overdraft on good days. A
 * scheme allows few presentations, so each must count.
 *
 * About four in five Bacs returns are "refer to payer", most ACH and SEPA returns are for funds.
 * Options: `poor`, `closing` (share of accounts that close within the year); `cutoff` (local hour after which a debit is booked a
 * day later), `businessDays` (from submission to booking).
 */
export const world: CreateWorld = (options) => {
  const defaults = { poor: 0.2, closing: 0.05, cutoff: 14, businessDays: 0 };
  const { poor, closing, cutoff, businessDays } = parseNumberOptions(options, defaults, ["poor", "closing"]);
  let seed = 0;
  let now = 0;
  let people: DebitCustomer[] = [];
  let memo = { key: "", from: 0, chances: new Map<number, Float64Array>() };

  const customerOf = (bill: { customerId: string }) => people[Number(bill.customerId.slice(9))]!;

  function bookedStep({ place }: DebitCustomer, at: number): number {
    let day = nextBankingDay(Math.floor((at + (place.utcOffsetHours + 24 - cutoff) * HOUR_MS) / DAY_MS));
    for (let n = 0; n < businessDays; n++) day = nextBankingDay(day + 1);
    return day * STEPS_PER_DAY;
  }

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const customer = customerOf(bill);
    const { scheme, place } = customer;
    const code = refusal(bill, customer, at);
    const charge: Charge = {
      at: new Date(at),
      approved: code === null,
      paymentMethodType: scheme,
      cardCountry: place.country,
    };
    return code === null ? charge : { ...charge, networkDeclineCode: code };
  }

  function refusal(bill: Omit<Bill, "first">, customer: DebitCustomer, at: number): string | null {
    if (at >= customer.endsAt) return customer.endCode;
    const { account, scheme, need } = customer;
    const key = Math.floor(at / HOUR_MS);
    if (keyedUniform(seed, customer.number, key, 91) < BANK_ERROR_RATE) return FUNDS_CODES[scheme].at(-1)!;
    if (!account) return null;
    advanceAccount(account, bookedStep(customer, at));
    const granted = keyedUniform(seed, customer.number, key, 92) < OVERDRAFT_CHANCE ? customer.overdraft : 0;
    if (account.level + granted >= need) {
      account.level = Math.max(0, account.level - need);
      return null;
    }
    const codes = FUNDS_CODES[scheme];
    return codes[
      Math.floor(
        keyedUniform(seed, customer.number, Number(bill.id.slice(bill.id.lastIndexOf("-") + 1)), 93) * codes.length,
      )
    ]!;
  }

  return {
    name: "debits",
    bills(givenSeed, customers) {
      seed = givenSeed;
      memo = { key: "", from: 0, chances: new Map() };
      const places = createSubscribers(seed, customers, ({ country }) => country in SCHEME_BY_COUNTRY);
      people = places.map((subscriber) => createCustomer(seed, subscriber, poor, closing));
      return generateBills(seed, people, (bill) => attempt(bill, bill.createdAt.getTime()));
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    payDays: (bill) => buildIsPayDay(customerOf(bill).account?.rhythm),
    approval(bill, at, tried = []) {
      const customer = customerOf(bill);
      if (now >= customer.endsAt) return 0;
      // The account's end is not foreseen: one in twenty per year hardly matters within a month.
      const { account } = customer;
      if (!account) return 1 - BANK_ERROR_RATE;
      const { need, overdraft } = customer;
      const bare = enoughAt(bill, customer, account, need, at.getTime(), tried);
      const helped =
        overdraft > 0 ? enoughAt(bill, customer, account, Math.max(0, need - overdraft), at.getTime(), tried) : bare;
      return (1 - BANK_ERROR_RATE) * (bare + OVERDRAFT_CHANCE * (helped - bare));
    },
  };

  function enoughAt(
    bill: Bill,
    customer: DebitCustomer,
    account: Account,
    need: number,
    at: number,
    tried: readonly Date[],
  ): number {
    const key = `${bill.id} ${now} ${tried.map(Number).join()}`;
    if (memo.key !== key) {
      const presentStep = Math.floor(((now + customer.place.utcOffsetHours * HOUR_MS) / DAY_MS) * STEPS_PER_DAY);
      advanceAccount(account, Math.max(account.step, presentStep));
      memo = { key, from: account.step, chances: new Map() };
    }
    let chances = memo.chances.get(need);
    if (!chances) {
      const last = bookedStep(customer, bill.createdAt.getTime() + (bill.windowDays + 3 + 3 * businessDays) * DAY_MS);
      const failures = tried.map((time) => ({
        step: bookedStep(customer, Number(time)),
        approvalRate: 1 - BANK_ERROR_RATE,
      }));
      chances = coverageChances(account, need, last, failures);
      memo.chances.set(need, chances);
    }
    const index = bookedStep(customer, at) - memo.from;
    return chances[Math.max(0, Math.min(chances.length - 1, index))]!;
  }
};

function nextBankingDay(day: number) {
  while ((day + 4) % 7 === 0 || (day + 4) % 7 === 6) day++;
  return day;
}

const BANK_ERROR_RATE = 0.006;
const OVERDRAFT_CHANCE = 0.35;

const SCHEME_BY_COUNTRY: Readonly<Record<string, Scheme>> = {
  US: "ach_debit",
  GB: "bacs_debit",
  DE: "sepa_debit",
  FR: "sepa_debit",
  ES: "sepa_debit",
};

function createCustomer(seed: number, subscriber: Subscriber, poor: number, closing: number): DebitCustomer {
  const { number, place } = subscriber;
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 15);
  const scheme = SCHEME_BY_COUNTRY[place.country]!;
  const rhythm = chooseWeighted(draw(42), place.rhythms);
  const often = rhythm.kind === "weekly" || rhythm.kind === "fortnightly" || rhythm.kind === "irregular";
  const step = Math.floor(((YEAR_START - 40 * DAY_MS) / DAY_MS) * STEPS_PER_DAY);
  const account: Account = {
    seed,
    key: number,
    rhythm,
    pay: (often ? 6 : 10) - Math.floor(3 * draw(45)),
    spending: Math.floor((often ? 4 : 2) + draw(46) * 5),
    postedIn: 0,
    paidUntil: Number.POSITIVE_INFINITY,
    topUp: 0.003 + 0.012 * draw(48),
    step,
    level: 5,
  };
  const ends = draw(50) < closing;
  const endCodes = FINAL_CODES[scheme];
  const endsAt = ends ? YEAR_START + 365 * draw(51) * DAY_MS : Number.POSITIVE_INFINITY;
  return {
    ...subscriber,
    leavesAt: endsAt + 45 * DAY_MS,
    scheme,
    account: draw(41) < poor ? account : null,
    need: 1 + Math.floor(3 * draw(49)),
    overdraft: draw(52) < 0.4 ? 1 + Math.floor(2 * draw(53)) : 0,
    endsAt,
    endCode: endCodes[Math.floor(draw(54) * endCodes.length)]!,
  };
}
