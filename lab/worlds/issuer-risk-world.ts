import { chanceOverBy, drawFailurePeriod, type FailurePeriod, findOutageAt, USUAL_UP_RATE } from "./failure-period.ts";
import { DAY_MS, HOUR_MS, keyedNormal, keyedUniform } from "./keyed-uniform.ts";
import { nextMidnight } from "./payment-troubles.ts";
import { createCard, type PlasticCard } from "./plastic-cards.ts";
import { createSubscribers, generateBills, type Subscriber } from "./subscriber-billing.ts";
import { type Bill, type Charge, type CreateWorld, parseNumberOptions } from "./world.ts";

interface RiskIssuer {
  night: number;
  weekend: number;
  memory: number;
  forgetDays: number;
  limit: number;
  /** Approvals per card, Monday to Sunday. */
  weekly: number;
  changesAt: number;
  changedLimit: number;
}

interface Customer extends Subscriber {
  card: PlasticCard;
  issuer: RiskIssuer;
  /** This customer's base. */
  suspicion: number;
  memory: number;
  rememberedAt: number;
  /** Day of the month on which the debt is paid off, and how full the line is by then: 0 for most. */
  paysOn: number;
  fullness: number;
}

interface RiskHold {
  code: string;
  spell: FailurePeriod;
}

/**
 * World 2: no balances. An issuer adds up suspicion: the customer's own, the hour, the weekend, a day's noise, and a fading
 * memory of declines. A charge above the limit is declined, so frequent retries make things worse. Also credit lines, weekly
 * limits, holds after fraud alarms, outages, lost cards. One issuer in four changes its limit within the year.
 *
 * Options: `suspicion` (scale of the customers' base), `memory` (scale of a decline's suspicion).
 */
export const world: CreateWorld = (options) => {
  const { suspicion: scale, memory: memoryScale } = parseNumberOptions(options, { suspicion: 1, memory: 1 });
  let seed = 0;
  let now = 0;
  let people: Customer[] = [];
  let holds = new Map<string, RiskHold | null>();

  const customerOf = (bill: { customerId: string }) => people[Number(bill.customerId.slice(9))]!;
  const localOf = (customer: Customer, at: number) => at + customer.place.utcOffsetHours * HOUR_MS;

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const customer = customerOf(bill);
    const code = refusal(bill, customer, at);
    if (code !== null) {
      customer.memory = memoryAt(customer, at, []) + customer.issuer.memory * memoryScale;
      customer.rememberedAt = at;
    }
    return customer.card.charge(at, code, keyedUniform(seed, customer.number, Math.floor(at / HOUR_MS), 81));
  }

  function refusal(bill: Omit<Bill, "first">, customer: Customer, at: number): string | null {
    const hold = holdOf(bill, customer, at);
    if (hold && at < hold.spell.endsAt) return hold.code;
    if (findOutageAt(seed, customer.card.issuer, at)) return "91";
    if (isFull(customer, at))
      return keyedUniform(seed, customer.number, Math.floor(at / DAY_MS), 86) < 0.7 ? "51" : "61";
    const noise = keyedNormal(seed, customer.number, Math.floor(localOf(customer, at) / DAY_MS), 87);
    if (suspicionAt(customer, at, []) + NOISE_DEVIATION * noise <= limitOf(customer, at)) return null;
    return customer.suspicion > 0.8 && keyedUniform(seed, customer.number, at / HOUR_MS, 88) < 0.3 ? "59" : "05";
  }

  function holdOf(bill: Pick<Bill, "id">, customer: Customer, at: number): RiskHold | null {
    let hold = holds.get(bill.id);
    if (hold === undefined) {
      hold = drawHold(seed, customer, Number(bill.id.slice(bill.id.lastIndexOf("-") + 1)), at);
      holds.set(bill.id, hold);
    }
    return hold;
  }

  function isFull(customer: Customer, at: number): boolean {
    if (customer.fullness === 0) return false;
    const date = new Date(localOf(customer, at)).getUTCDate();
    const month = Math.floor(localOf(customer, at) / (30.4 * DAY_MS));
    const days = (customer.paysOn - date + 30) % 30;
    return days < customer.fullness * 22 * (0.5 + keyedUniform(seed, customer.number, month, 89));
  }

  function suspicionAt(customer: Customer, at: number, tried: readonly number[]): number {
    const local = new Date(localOf(customer, at));
    const { issuer } = customer;
    const night = local.getUTCHours() >= 1 && local.getUTCHours() < 6 ? issuer.night : 0;
    const weekend = local.getUTCDay() % 6 === 0 ? issuer.weekend : 0;
    return customer.suspicion * scale + night + weekend + memoryAt(customer, at, tried);
  }

  function memoryAt(customer: Customer, at: number, tried: readonly number[]): number {
    const { forgetDays, memory } = customer.issuer;
    const fade = (since: number) => 0.5 ** ((at - since) / (forgetDays * DAY_MS));
    let sum = customer.memory * fade(customer.rememberedAt);
    for (const time of tried) if (time < at) sum += memory * memoryScale * fade(time);
    return sum;
  }

  return {
    name: "issuers",
    bills(givenSeed, customers) {
      seed = givenSeed;
      holds = new Map();
      people = createSubscribers(seed, customers).map((subscriber) => createCustomer(seed, subscriber));
      return generateBills(seed, people, (bill) => attempt(bill, bill.createdAt.getTime()));
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    approval(bill, at, tried = []) {
      const customer = customerOf(bill);
      const time = at.getTime();
      const times = tried.map(Number);
      const knownAt = Math.max(now, times.at(-1) ?? 0);
      const hold = holdOf(bill, customer, now);
      let chance = 1;
      if (hold && now < hold.spell.endsAt)
        chance =
          Number.isFinite(hold.spell.longest) && hold.spell.shortest > 1
            ? chanceOverBy(hold.spell, time, knownAt)
            : Number(time >= hold.spell.endsAt);
      const outage = findOutageAt(seed, customer.card.issuer, now);
      chance *= outage ? chanceOverBy(outage, time, knownAt) : USUAL_UP_RATE;
      if (chance === 0 || isFull(customer, time)) return 0;
      const today = Math.floor(localOf(customer, now) / DAY_MS) === Math.floor(localOf(customer, time) / DAY_MS);
      const noise = keyedNormal(seed, customer.number, Math.floor(localOf(customer, time) / DAY_MS), 87);
      const margin = limitOf(customer, time) - suspicionAt(customer, time, times);
      return chance * (today ? Number(NOISE_DEVIATION * noise <= margin) : shareBelow(margin / NOISE_DEVIATION));
    },
  };

  function limitOf({ issuer }: Customer, at: number) {
    return at < issuer.changesAt ? issuer.limit : issuer.changedLimit;
  }
};

const NOISE_DEVIATION = 0.45;

/** Logistic, close to the normal distribution. `x` in standard deviations. */
const shareBelow = (x: number) => 1 / (1 + Math.exp(-1.702 * x));

function drawHold(seed: number, customer: Customer, cycle: number, at: number): RiskHold | null {
  const draw = (purpose: number) => keyedUniform(seed, customer.number, cycle * 64 + purpose, 8);
  const share = draw(1);
  if (share >= 0.055) return null;
  const kind = share / 0.055;
  if (kind < 0.4)
    return { code: draw(2) < 0.5 ? "59" : "05", spell: drawFailurePeriod(at, 2 * HOUR_MS, 6 * DAY_MS, draw(3)) };
  if (kind < 0.55) return { code: "05", spell: drawFailurePeriod(at, 3 * DAY_MS, 25 * DAY_MS, draw(3)) };
  if (kind < 0.68) return { code: "65", spell: holdUntil(at, nextMonday(at, customer.place.utcOffsetHours)) };
  if (kind < 0.74) return { code: "61", spell: holdUntil(at, nextMidnight(at, customer.place.utcOffsetHours)) };
  if (kind < 0.84) return { code: "54", spell: drawFailurePeriod(at, DAY_MS, 10 * DAY_MS, draw(3)) };
  const code = kind < 0.9 ? "54" : ["14", "41", "43", "46"][Math.floor(draw(4) * 4)]!;
  return { code, spell: drawFailurePeriod(at, Infinity, Infinity, 0) };
}

const holdUntil = (startsAt: number, endsAt: number): FailurePeriod => ({ startsAt, shortest: 0, longest: 1, endsAt });

function nextMonday(at: number, utcOffsetHours: number) {
  const midnight = nextMidnight(at, utcOffsetHours);
  const weekday = new Date(midnight + utcOffsetHours * HOUR_MS).getUTCDay();
  return midnight + ((8 - weekday) % 7) * DAY_MS;
}

function createIssuer(seed: number, number: number): RiskIssuer {
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 9);
  const limit = 1.25 + 0.5 * draw(1);
  return {
    night: 0.5 * draw(2),
    weekend: 0.35 * draw(3) - 0.1,
    memory: 0.15 + 0.35 * draw(4),
    forgetDays: 1.5 + 4 * draw(5),
    limit,
    weekly: Number.POSITIVE_INFINITY,
    changesAt: draw(6) < 0.25 ? Date.UTC(2026, 3 + Math.floor(6 * draw(7)), 1) : Number.POSITIVE_INFINITY,
    changedLimit: limit + 0.5 * (draw(8) - 0.5),
  };
}

function createCustomer(seed: number, subscriber: Subscriber): Customer {
  const { number, place } = subscriber;
  const card = createCard(seed, number, place.country, keyedUniform(seed, number, 61, 5) < 0.3);
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 5);
  return {
    ...subscriber,
    card,
    issuer: createIssuer(seed, card.issuer),
    suspicion: draw(62) < 0.12 ? 0.5 + 1.1 * draw(63) : 0.35 * draw(63),
    memory: 0,
    rememberedAt: 0,
    paysOn: 1 + Math.floor(28 * draw(64)),
    fullness: draw(65) < 0.1 ? 0.25 + 0.75 * draw(66) : 0,
  };
}
