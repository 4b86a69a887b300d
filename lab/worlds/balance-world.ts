import {
  type Account,
  advanceAccount,
  coverageChances,
  SPENDING_CLASS_COUNT,
  STEPS_PER_DAY,
} from "./account-balance.ts";
import { chanceOverBy, findOutageAt, USUAL_UP_RATE } from "./failure-period.ts";
import { chooseWeighted, DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import { buildIsPayDay } from "./pay-rhythm.ts";
import { drawTrouble, type PaymentTrouble } from "./payment-troubles.ts";
import { createCard, type PlasticCard } from "./plastic-cards.ts";
import { createSubscribers, generateBills, type Subscriber, YEAR_START } from "./subscriber-billing.ts";
import { type Bill, type Charge, type CreateWorld, parseNumberOptions } from "./world.ts";

interface Customer extends Subscriber {
  card: PlasticCard;
  /** null: money is never short. */
  account: Account | null;
  /** In portions. */
  need: number;
  attempts: number[];
}

/**
 * World 1: an account balance moves by pay, spending and gifts; a charge needs enough of it. Also holds, limits, replaced and
 * lost cards, outages, and a risk engine that dislikes quick repetition.
 *
 * 14% of first charges fail, more than two fifths of them with 51 and a third with 05; days 1, 3, 5, 7 recover half
 * (docs/measurements.md).
 *
 * Options: `poor` (share that lives from pay to pay), `gone` (share of those whose pay ends within the year; 0.6 in the hard
 * world), `masked` (share of 51 reported as 05), `holds` (scale of all other troubles).
 */
export const world: CreateWorld = (options) => {
  const { poor, gone, masked, holds } = parseNumberOptions(options, { poor: 0.18, gone: 0.3, masked: 0.18, holds: 1 }, [
    "poor",
    "gone",
    "masked",
  ]);
  let seed = 0;
  let now = 0;
  let people: Customer[] = [];
  let troubles = new Map<string, PaymentTrouble | null>();
  let memo = { key: "", from: 0, chances: new Float64Array(0) as Float64Array };

  const customerOf = (bill: { customerId: string }) => people[Number(bill.customerId.slice(9))]!;
  const stepAt = ({ place }: Customer, at: number) =>
    Math.floor(((at + place.utcOffsetHours * HOUR_MS) / DAY_MS) * STEPS_PER_DAY);

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const customer = customerOf(bill);
    const declineCode = refusal(bill, customer, at);
    customer.attempts = [...customer.attempts.filter((time) => time > at - 7 * DAY_MS), at];
    if (!declineCode && customer.account) customer.account.level -= customer.need;
    return customer.card.charge(at, declineCode, keyedUniform(seed, customer.number, Math.floor(at / HOUR_MS), 81));
  }

  function refusal(bill: Omit<Bill, "first">, customer: Customer, at: number): string | null {
    const trouble = troubleFor(bill, customer, at);
    if (trouble && at < trouble.spell.endsAt) return trouble.code;
    if (findOutageAt(seed, customer.card.issuer, at))
      return keyedUniform(seed, customer.number, at / HOUR_MS, 82) < 0.75 ? "91" : "96";
    if (customer.account) {
      advanceAccount(customer.account, stepAt(customer, at));
      const hides = masked * 2 * keyedUniform(seed, customer.card.issuer, 83, 0);
      if (customer.account.level < customer.need)
        return keyedUniform(seed, customer.number, Math.floor(at / DAY_MS), 84) < hides ? "05" : "51";
    }
    const draw = keyedUniform(seed, customer.number, Math.floor(at / 60_000), 85);
    return draw < riskApprovalRate(customer, at, []) ? null : "05";
  }

  const troubleFor = (bill: Pick<Bill, "id" | "customerId" | "createdAt">, customer: Customer, at: number) => {
    let trouble = troubles.get(bill.id);
    if (trouble === undefined) {
      const cycle = Number(bill.id.slice(bill.id.lastIndexOf("-") + 1));
      trouble = drawTrouble(seed, customer.number, cycle, customer.place.utcOffsetHours, at, holds);
      troubles.set(bill.id, trouble);
    }
    return trouble;
  };

  function riskApprovalRate(customer: Customer, at: number, tried: readonly number[]): number {
    const hour = new Date(at + customer.place.utcOffsetHours * HOUR_MS).getUTCHours();
    let recent = 0;
    for (const time of customer.attempts) if (time > at - 7 * DAY_MS && time < at) recent++;
    for (const time of tried) if (time > at - 7 * DAY_MS && time < at) recent++;
    const night = hour >= 1 && hour < 5 ? customer.card.nightFactor : 1;
    return 0.998 * night * (recent < 3 ? 1 : recent < 5 ? 0.7 : 0.45);
  }

  return {
    name: gone > 0.3 ? "balances, hard" : "balances",
    bills(givenSeed, customers) {
      seed = givenSeed;
      troubles = new Map();
      memo = { key: "", from: 0, chances: new Float64Array(0) as Float64Array };
      people = createSubscribers(seed, customers).map((subscriber) => createCustomer(seed, subscriber, poor, gone));
      return generateBills(seed, people, (bill) => attempt(bill, bill.createdAt.getTime()));
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    payDays: (bill) => buildIsPayDay(customerOf(bill).account?.rhythm),
    approval(bill, at, tried = []) {
      const customer = customerOf(bill);
      const time = at.getTime();
      const times = tried.map(Number);
      const knownAt = Math.max(now, times.at(-1) ?? 0);
      const trouble = troubleFor(bill, customer, now);
      let chance = riskApprovalRate(customer, time, times);
      if (trouble && now < trouble.spell.endsAt)
        chance *= trouble.isKnown ? Number(time >= trouble.spell.endsAt) : chanceOverBy(trouble.spell, time, knownAt);
      const outage = findOutageAt(seed, customer.card.issuer, now);
      chance *= outage ? chanceOverBy(outage, time, knownAt) : USUAL_UP_RATE;
      if (!customer.account) return chance;
      return chance * coverageAt(bill, customer, customer.account, time, times);
    },
  };

  function coverageAt(bill: Bill, customer: Customer, account: Account, at: number, tried: readonly number[]): number {
    const key = `${bill.id} ${now} ${tried.join()}`;
    if (memo.key !== key) {
      advanceAccount(account, stepAt(customer, now));
      const last = stepAt(customer, bill.createdAt.getTime() + (bill.windowDays + 1) * DAY_MS);
      const failures = tried.map((time, index) => ({
        step: stepAt(customer, time),
        approvalRate: riskApprovalRate(customer, time, tried.slice(0, index)),
      }));
      memo = { key, from: account.step, chances: coverageChances(account, customer.need, last, failures) };
    }
    const index = stepAt(customer, at) - memo.from;
    return memo.chances[Math.max(0, Math.min(memo.chances.length - 1, index))]!;
  }
};

function createCustomer(seed: number, subscriber: Subscriber, poor: number, gone: number): Customer {
  const { number, place } = subscriber;
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 5);
  const isPoor = draw(41) < poor;
  const rhythm = chooseWeighted(draw(42), place.rhythms);
  const portions = {
    weekly: 5,
    fortnightly: 7,
    four_weekly: 10,
    dated: 10,
    business_day: 10,
    nth_weekday: 9,
    irregular: 5,
  };
  const step = Math.floor(((YEAR_START - 40 * DAY_MS) / DAY_MS) * STEPS_PER_DAY);
  const endsPay = draw(43) < gone;
  const paidUntil = endsPay ? step + Math.floor((20 + 360 * draw(44)) * STEPS_PER_DAY) : Number.POSITIVE_INFINITY;
  const isTwiceMonthly = rhythm.kind === "dated" && rhythm.days.length > 1;
  const account: Account = {
    seed,
    key: number,
    rhythm,
    pay: (isTwiceMonthly ? 7 : portions[rhythm.kind]) - Math.floor(3 * draw(45)),
    spending: Math.min(SPENDING_CLASS_COUNT - 1, Math.floor(1 + draw(46) * 5 + (rhythm.kind === "weekly" ? 2 : 0))),
    postedIn: draw(47) < 0.7 ? 0 : 1,
    paidUntil,
    topUp: 0.003 + 0.06 * draw(48) ** 3,
    step,
    level: 4,
  };
  return {
    ...subscriber,
    leavesAt:
      isPoor && endsPay
        ? YEAR_START + (paidUntil / STEPS_PER_DAY - YEAR_START / DAY_MS + 75) * DAY_MS
        : Number.POSITIVE_INFINITY,
    card: createCard(seed, number, place.country, isPoor),
    account: isPoor ? account : null,
    need: 1 + Math.floor(4 * draw(49) ** 1.3),
    attempts: [],
  };
}
