import { chanceOverBy, drawFailurePeriod, type FailurePeriod, findOutageAt, USUAL_UP_RATE } from "./failure-period.ts";
import { chooseWeighted, DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import { buildIsPayDay, type PayRhythm, payDueChance } from "./pay-rhythm.ts";
import { nextMidnight, nextMonth } from "./payment-troubles.ts";
import { createCard, type PlasticCard } from "./plastic-cards.ts";
import { STEPS_PER_DAY, stepOf } from "./simulation-steps.ts";
import { createSubscribers, generateBills, type Subscriber, YEAR_START } from "./subscriber-billing.ts";
import {
  type Cause,
  computeEmptyRate,
  cycleDaysOf,
  drawMechanism,
  drawRhythm,
  type Mechanism,
  type Wording,
} from "./varied-mechanism.ts";
import { type Bill, type Charge, parseNumberOptions, type World } from "./world.ts";

const CODES: Readonly<Record<Cause, readonly string[]>> = {
  money: ["51"],
  hold: ["05", "05", "59", "62"],
  limit: ["61", "65"],
  down: ["91", "91", "96"],
  suspicion: ["05", "05", "05", "59"],
  gone: ["14", "41", "43", "46", "54", "54", "R1", "05", "51"],
};

const BROUGHT_IN = 1;
const PAID = 2;
/** From here on, chances are those without the trouble. */
const CLEAR = 3;

/** Chances of one step. */
interface FundsMove {
  pay: number;
  spend: number;
  spendTopUp: number;
  bring: number;
}

interface Customer extends Subscriber {
  card: PlasticCard;
  group: string;
  wording: Wording;
  /** Share of charges that the issuer refuses at random. */
  refused: number;
  /** null: money is never short. */
  income: { rhythm: PayRhythm; slot: number; lastsDays: number; shape: number } | null;
  step: number;
  /** 0: none. */
  funds: number;
  /** Steps of the last pay and the last decline. */
  paidAt: number;
  declinedAt: number;
}

interface Trouble {
  cause: Cause;
  spell: FailurePeriod;
  isKnown: boolean;
}

/** Declines of a customer, or of an issuer's customers at a merchant. */
interface Memory {
  /** How much one decline adds. */
  weight: number;
  level: number;
  at: number;
  added: number;
}

/**
 * `variation` draws a whole mechanism, so it shows how an engine carries over. Never judge a model in a variation that it was trained in.
 *
 * A charge fails if the invoice's trouble has not ended, in an outage, if the issuer refuses it at random or for declines before, or
 * without money. Money comes with pay and from customers after a decline. Harm by declines does not reach first charges, but money that
 * customers bring after a decline may pay the next one.
 *
 * `approval` knows every decline's true cause and the customer's habits. It knows whether money or the trouble is there now, but not
 * when either ends or how a customer reacts.
 */
export function world(options?: Record<string, unknown>): World {
  const { variation } = parseNumberOptions(options, { variation: 1 });
  const mechanism = drawMechanism(variation);
  const { harm, topUp, night, windowDays } = mechanism;
  const spendTopUp = 1 - Math.exp(-1 / STEPS_PER_DAY / topUp.lastsDays);
  let seed = 0;
  let now = 0;
  let people: Customer[] = [];
  let troubles = new Map<string, Trouble | null>();
  let memories = new Map<string, Memory>();

  const customerOf = (bill: { customerId: string }) => people[Number(bill.customerId.slice(9))]!;
  const localStep = ({ place }: Customer, at: number) => stepOf(at + place.utcOffsetHours * HOUR_MS);

  function moveAt({ income }: Customer, step: number, paidAt: number, declinedAt: number): FundsMove {
    const { rhythm, slot, lastsDays, shape } = income!;
    const used = (steps: number) => (steps / STEPS_PER_DAY / lastsDays) ** shape;
    const sinceDecline = (step - declinedAt) / STEPS_PER_DAY / topUp.delayDays;
    const isAwake = step % STEPS_PER_DAY >= 2;
    return {
      pay: step % STEPS_PER_DAY === slot ? payDueChance(rhythm, Math.floor(step / STEPS_PER_DAY)) : 0,
      spend: 1 - Math.exp(used(step - 1 - paidAt) - used(step - paidAt)),
      spendTopUp,
      bring: isAwake ? 1 - Math.exp(-(topUp.urge / topUp.delayDays / STEPS_PER_DAY) * Math.exp(-sinceDecline)) : 0,
    };
  }

  function live(customer: Customer, until: number) {
    if (!customer.income) return;
    while (customer.step < until) {
      const step = ++customer.step;
      const { pay, spend, spendTopUp, bring } = moveAt(customer, step, customer.paidAt, customer.declinedAt);
      const draw = keyedUniform(seed, customer.number, step, 162);
      if (customer.funds === 0) customer.funds = draw < bring ? BROUGHT_IN : 0;
      else if (draw < (customer.funds === PAID ? spend : spendTopUp)) customer.funds = 0;
      if (pay > 0 && keyedUniform(seed, customer.number, step, 163) < pay) customer.funds = PAID;
      if (pay === 1) customer.paidAt = step;
    }
  }

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const customer = customerOf(bill);
    live(customer, localStep(customer, at));
    const cause = failureOf(bill, customer, at);
    if (cause === null) return customer.card.charge(at, null, 0);
    customer.declinedAt = customer.step;
    const memory = memories.get(customer.group)!;
    memory.level = harmAt(memory, at, []) + memory.weight;
    memory.added += memory.weight;
    memory.at = at;
    const draw = (everyMs: number, purpose: number) =>
      keyedUniform(seed, customer.number, Math.floor(at / everyMs), purpose);
    const codes = CODES[cause];
    const started = cause === "gone" || cause === "hold" ? bill.createdAt.getTime() / HOUR_MS : at / DAY_MS;
    const honest = codes[Math.floor(codes.length * keyedUniform(seed, customer.number, Math.floor(started), 165))]!;
    return customer.card.charge(at, reword(customer.wording, cause, honest, draw(DAY_MS, 166)), draw(HOUR_MS, 167));
  }

  function failureOf(bill: Omit<Bill, "first">, customer: Customer, at: number): Cause | null {
    const trouble = troubleOf(bill, customer, at);
    if (trouble && at < trouble.spell.endsAt) return trouble.cause;
    if (findOutageAt(seed, customer.card.issuer, at)) return "down";
    const isRetry = at > bill.createdAt.getTime();
    const accepted = isRetry ? acceptRate(customer, at, []) : 1 - customer.refused;
    if (keyedUniform(seed, customer.number, Math.floor(at / HOUR_MS), 164) >= accepted) return "suspicion";
    return customer.income && customer.funds === 0 ? "money" : null;
  }

  function troubleOf(bill: Pick<Bill, "id">, customer: Customer, at: number): Trouble | null {
    let trouble = troubles.get(bill.id);
    if (trouble === undefined) {
      const cycle = Number(bill.id.slice(bill.id.lastIndexOf("-") + 1));
      trouble = drawTrouble(mechanism, (n) => keyedUniform(seed, customer.number, cycle * 8 + n, 168), customer, at);
      troubles.set(bill.id, trouble);
    }
    return trouble;
  }

  function acceptRate(customer: Customer, at: number, tried: readonly number[]): number {
    const byDay = localStep(customer, at) % STEPS_PER_DAY < 2 ? 1 - night : 1;
    if (harm.scope === "none") return (1 - customer.refused) * byDay;
    return (1 - customer.refused) * byDay * Math.exp(-harm.strength * harmAt(memories.get(customer.group)!, at, tried));
  }

  /** Other customers' declines go on at their usual rate. */
  function harmAt({ weight, level, at: rememberedAt, added }: Memory, at: number, tried: readonly number[]): number {
    const fade = (since: number) => 0.5 ** ((at - since) / (harm.halfLifeDays * DAY_MS));
    const usual =
      harm.scope === "issuer"
        ? (added / (now - YEAR_START + 30 * DAY_MS)) * (harm.halfLifeDays / Math.LN2) * DAY_MS
        : 0;
    let sum = level * fade(rememberedAt) + usual * (1 - fade(now));
    for (const time of tried) sum += weight * fade(time);
    return sum;
  }

  return {
    name: `varied, ${variation}`,
    *bills(givenSeed, customers) {
      seed = givenSeed;
      troubles = new Map();
      memories = new Map();
      people = createSubscribers(seed, customers).map((each) => createCustomer(seed, each, mechanism));
      const sizes = Map.groupBy(people, ({ group }) => group);
      for (const [group, { length }] of sizes)
        memories.set(group, { weight: 4 / (length + 3), level: 0, at: 0, added: 0 });
      for (const bill of generateBills(seed, people, (bill) => attempt(bill, bill.createdAt.getTime())))
        yield { ...bill, windowDays: windowDays[customerOf(bill).merchant % windowDays.length]! };
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    payDays: (bill) => buildIsPayDay(customerOf(bill).income?.rhythm),
    approval(bill, at, tried = []) {
      const customer = customerOf(bill);
      live(customer, localStep(customer, now));
      const trouble = troubleOf(bill, customer, now);
      // The hidden state is filtered: three states of money, with the trouble and without.
      const isTroubled = trouble !== null && now < trouble.spell.endsAt;
      const outage = findOutageAt(seed, customer.card.issuer, now);
      let { step, paidAt, declinedAt } = customer;
      let knownAt = now;
      const chances = new Float64Array(2 * CLEAR);
      chances[(isTroubled ? 0 : CLEAR) + (customer.income ? customer.funds : PAID)] = 1;
      const failures: number[] = [];
      const times = tried.map(Number).filter((time) => time > now && time < at.getTime());
      for (const time of [...times, at.getTime()]) {
        for (const until = localStep(customer, time); customer.income && step < until; ) {
          const move = moveAt(customer, ++step, paidAt, declinedAt);
          for (const from of [0, CLEAR]) moveFunds(chances, from, move);
          if (move.pay === 1) paidAt = step;
        }
        const ended = isTroubled ? endChance(trouble, time, knownAt) : 0;
        for (let n = 0; n < CLEAR; n++) {
          chances[CLEAR + n]! += chances[n]! * ended;
          chances[n]! *= 1 - ended;
        }
        const up = outage ? chanceOverBy(outage, time, knownAt) : USUAL_UP_RATE;
        const accepted = up * acceptRate(customer, time, failures);
        const approved = accepted * (chances[CLEAR + BROUGHT_IN]! + chances[CLEAR + PAID]!);
        if (failures.length === times.length) return approved;
        if (approved < 1) {
          chances[CLEAR + BROUGHT_IN]! *= 1 - accepted;
          chances[CLEAR + PAID]! *= 1 - accepted;
          for (let n = 0; n < chances.length; n++) chances[n]! /= 1 - approved;
        }
        failures.push(time);
        declinedAt = step;
        knownAt = time;
      }
      return 0;
    },
  };
}

/** One step, with the trouble or without: chances begin at `from`. */
function moveFunds(chances: Float64Array, from: number, { pay, spend, spendTopUp, bring }: FundsMove) {
  const [none, broughtIn, paid] = [chances[from]!, chances[from + BROUGHT_IN]!, chances[from + PAID]!];
  chances[from] = (none * (1 - bring) + paid * spend + broughtIn * spendTopUp) * (1 - pay);
  chances[from + BROUGHT_IN] = (broughtIn * (1 - spendTopUp) + none * bring) * (1 - pay);
  chances[from + PAID] = none + broughtIn + paid - chances[from]! - chances[from + BROUGHT_IN]!;
}

const endChance = ({ isKnown, spell }: Trouble, at: number, knownAt: number) =>
  isKnown ? Number(at >= spell.endsAt) : chanceOverBy(spell, at, knownAt);

function drawTrouble(
  { failing, lengths, limitEnds }: Mechanism,
  draw: (purpose: number) => number,
  { place }: Subscriber,
  at: number,
): Trouble | null {
  const { hold, limit, down, gone } = failing;
  const cause = chooseWeighted<Cause | null>(draw(1), [
    ["hold", hold],
    ["limit", limit],
    ["down", down],
    ["gone", gone],
    [null, 1 - hold - limit - down - gone],
  ]);
  if (cause === null) return null;
  if (cause === "limit") {
    const endsAt = (limitEnds === "midnight" ? nextMidnight : nextMonth)(at, place.utcOffsetHours);
    return { cause, spell: { startsAt: at, shortest: 0, longest: 1, endsAt }, isKnown: true };
  }
  const [shortest, longest] = cause === "hold" || cause === "down" ? lengths[cause] : [Infinity, Infinity];
  return { cause, spell: drawFailurePeriod(at, shortest, longest, draw(2)), isKnown: false };
}

function createCustomer(seed: number, subscriber: Subscriber, mechanism: Mechanism): Customer {
  const { failing, harm, income, merchants, priceFactor, wordings } = mechanism;
  const { number, place } = subscriber;
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 169);
  const rhythm = drawRhythm(chooseWeighted(draw(1), income.rhythms), place.rhythms, draw);
  const lastsDays = income.lasts * (0.6 + 0.8 * draw(2)) * cycleDaysOf(rhythm);
  const shape = rhythm.kind === "irregular" ? 1 : income.shape;
  const isPoor = draw(3) < failing.money / computeEmptyRate(rhythm, lastsDays, shape);
  const refuses = 0.3 + 0.6 * draw(4);
  const card = createCard(seed, number, place.country, isPoor);
  const merchant = subscriber.merchant % merchants;
  const step = stepOf(YEAR_START - 45 * DAY_MS);
  return {
    ...subscriber,
    merchant,
    amount: Math.max(1, Math.round((subscriber.amount * priceFactor) / 100)) * 100,
    card,
    group: harm.scope === "issuer" ? `${merchant} ${card.issuer}` : `${number}`,
    wording: chooseWeighted(keyedUniform(seed, card.issuer, 1, 170), wordings),
    refused: draw(5) < failing.suspicion / refuses ? refuses : 0,
    income: isPoor ? { rhythm, slot: income.slots[Math.floor(2 * draw(6))]!, lastsDays, shape } : null,
    step,
    funds: PAID,
    paidAt: step,
    declinedAt: Number.NEGATIVE_INFINITY,
  };
}

/** @param draw  the same for a day */
function reword(wording: Wording, cause: Cause, honest: string, draw: number): string {
  if (wording === "generic") return "05";
  if (wording === "funds") return cause === "gone" ? honest : "51";
  if (wording === "masked" && (cause === "gone" || draw < 0.5)) return "05";
  return honest;
}
