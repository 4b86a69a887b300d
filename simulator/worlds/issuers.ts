import { billsOf, type Subscriber, subscribersOf } from "./billing.ts";
import { cardOf, type PlasticCard } from "./cards.ts";
import { coin, DAY_MS, HOUR_MS, normal } from "./coin.ts";
import { outageAt, overBy, type Spell, spell, USUALLY_UP } from "./spell.ts";
import { nextMidnight } from "./troubles.ts";
import { type Bill, type Charge, type CreateWorld, numberOptions } from "./world.ts";

/** What an issuer's risk engine is like. */
interface Issuer {
  /** Suspicion added by a charge between one and six at night, and at the weekend. */
  night: number;
  weekend: number;
  /** Suspicion that a declined try adds, and after how many days half of it is forgotten. */
  memory: number;
  forgetDays: number;
  /** Declines above this much suspicion. */
  limit: number;
  /** Approvals a card may have in a week, Monday to Sunday; Infinity: any. */
  weekly: number;
  /** From this moment on the limit is another: issuers change their minds. */
  changesAt: number;
  changedLimit: number;
}

interface Customer extends Subscriber {
  card: PlasticCard;
  issuer: Issuer;
  /** How suspicious this customer's charges look of themselves. */
  suspicion: number;
  /** Suspicion from earlier declines, as of `rememberedAt`. */
  memory: number;
  rememberedAt: number;
  /** Day of the month on which the card's debt is paid off, and how full it is by then: 0 for most. */
  paysOn: number;
  fullness: number;
}

interface Hold {
  code: string;
  spell: Spell;
}

/**
 * World 2: no balances. A risk engine at the issuer adds up suspicion: the customer's own, the hour, the weekend, noise
 * of the day that is the same for all tries of it, and a memory of declined tries that fades. A charge above the limit is
 * declined, so hammering makes things worse. Besides: credit lines that fill up until the statement is paid, counts that
 * start afresh on Mondays, holds after fraud alarms, outages, cards that are gone. One issuer in four changes its mind
 * within the year.
 *
 * Options: `suspicion` (scale of the customers' own), `memory` (scale of what a declined try adds).
 */
export const world: CreateWorld = (options) => {
  const { suspicion: scale, memory: memoryScale } = numberOptions(options, { suspicion: 1, memory: 1 });
  let seed = 0;
  let now = 0;
  let people: Customer[] = [];
  let holds = new Map<string, Hold | null>();

  const customerOf = (bill: { customerId: string }) => people[Number(bill.customerId.slice(9))]!;
  const localOf = (customer: Customer, at: number) => at + customer.place.utcOffsetHours * HOUR_MS;

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const customer = customerOf(bill);
    const code = refusal(bill, customer, at);
    if (code !== null) {
      customer.memory = remembered(customer, at, []) + customer.issuer.memory * memoryScale;
      customer.rememberedAt = at;
    }
    return customer.card.charge(at, code, coin(seed, customer.number, Math.floor(at / HOUR_MS), 81));
  }

  function refusal(bill: Omit<Bill, "first">, customer: Customer, at: number): string | null {
    const hold = holdOf(bill, customer, at);
    if (hold && at < hold.spell.endsAt) return hold.code;
    if (outageAt(seed, customer.card.issuer, at)) return "91";
    if (isFull(customer, at)) return coin(seed, customer.number, Math.floor(at / DAY_MS), 86) < 0.7 ? "51" : "61";
    const noise = normal(seed, customer.number, Math.floor(localOf(customer, at) / DAY_MS), 87);
    if (suspicionAt(customer, at, []) + NOISE * noise <= limitOf(customer, at)) return null;
    return customer.suspicion > 0.8 && coin(seed, customer.number, at / HOUR_MS, 88) < 0.3 ? "59" : "05";
  }

  function holdOf(bill: Pick<Bill, "id">, customer: Customer, at: number): Hold | null {
    let hold = holds.get(bill.id);
    if (hold === undefined) {
      hold = drawHold(seed, customer, Number(bill.id.slice(bill.id.lastIndexOf("-") + 1)), at);
      holds.set(bill.id, hold);
    }
    return hold;
  }

  /** A credit line is full in the days before it is paid off. */
  function isFull(customer: Customer, at: number): boolean {
    if (customer.fullness === 0) return false;
    const date = new Date(localOf(customer, at)).getUTCDate();
    const month = Math.floor(localOf(customer, at) / (30.4 * DAY_MS));
    const days = (customer.paysOn - date + 30) % 30;
    return days < customer.fullness * 22 * (0.5 + coin(seed, customer.number, month, 89));
  }

  function suspicionAt(customer: Customer, at: number, tried: readonly number[]): number {
    const local = new Date(localOf(customer, at));
    const { issuer } = customer;
    const night = local.getUTCHours() >= 1 && local.getUTCHours() < 6 ? issuer.night : 0;
    const weekend = local.getUTCDay() % 6 === 0 ? issuer.weekend : 0;
    return customer.suspicion * scale + night + weekend + remembered(customer, at, tried);
  }

  function remembered(customer: Customer, at: number, tried: readonly number[]): number {
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
      people = subscribersOf(seed, customers).map((subscriber) => personOf(seed, subscriber));
      return billsOf(seed, people, (bill) => attempt(bill, bill.createdAt.getTime()));
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    approval(bill, at, tried = []) {
      const customer = customerOf(bill);
      const time = at.getTime();
      const times = tried.map(Number);
      const known = Math.max(now, times.at(-1) ?? 0);
      const hold = holdOf(bill, customer, now);
      let chance = 1;
      if (hold && now < hold.spell.endsAt)
        chance =
          Number.isFinite(hold.spell.longest) && hold.spell.shortest > 1
            ? overBy(hold.spell, time, known)
            : Number(time >= hold.spell.endsAt);
      const outage = outageAt(seed, customer.card.issuer, now);
      chance *= outage ? overBy(outage, time, known) : USUALLY_UP;
      if (chance === 0 || isFull(customer, time)) return 0;
      const today = Math.floor(localOf(customer, now) / DAY_MS) === Math.floor(localOf(customer, time) / DAY_MS);
      const noise = normal(seed, customer.number, Math.floor(localOf(customer, time) / DAY_MS), 87);
      const room = limitOf(customer, time) - suspicionAt(customer, time, times);
      return chance * (today ? Number(NOISE * noise <= room) : shareBelow(room / NOISE));
    },
  };

  function limitOf({ issuer }: Customer, at: number) {
    return at < issuer.changesAt ? issuer.limit : issuer.changedLimit;
  }
};

/** Standard deviation of a day's luck. */
const NOISE = 0.45;

/** The share of days whose noise is below so many standard deviations: a logistic curve close to the normal one. */
const shareBelow = (x: number) => 1 / (1 + Math.exp(-1.702 * x));

function drawHold(seed: number, customer: Customer, cycle: number, at: number): Hold | null {
  const draw = (what: number) => coin(seed, customer.number, cycle * 64 + what, 8);
  const share = draw(1);
  if (share >= 0.055) return null;
  const kind = share / 0.055;
  if (kind < 0.4) return { code: draw(2) < 0.5 ? "59" : "05", spell: spell(at, 2 * HOUR_MS, 6 * DAY_MS, draw(3)) };
  if (kind < 0.55) return { code: "05", spell: spell(at, 3 * DAY_MS, 25 * DAY_MS, draw(3)) };
  if (kind < 0.68) return { code: "65", spell: turn(at, nextMonday(at, customer.place.utcOffsetHours)) };
  if (kind < 0.74) return { code: "61", spell: turn(at, nextMidnight(at, customer.place.utcOffsetHours)) };
  if (kind < 0.84) return { code: "54", spell: spell(at, DAY_MS, 10 * DAY_MS, draw(3)) };
  const code = kind < 0.9 ? "54" : ["14", "41", "43", "46"][Math.floor(draw(4) * 4)]!;
  return { code, spell: spell(at, Infinity, Infinity, 0) };
}

const turn = (startsAt: number, endsAt: number): Spell => ({ startsAt, shortest: 0, longest: 1, endsAt });

function nextMonday(at: number, utcOffsetHours: number) {
  const midnight = nextMidnight(at, utcOffsetHours);
  const weekday = new Date(midnight + utcOffsetHours * HOUR_MS).getUTCDay();
  return midnight + ((8 - weekday) % 7) * DAY_MS;
}

function issuerOf(seed: number, number: number): Issuer {
  const draw = (what: number) => coin(seed, number, what, 9);
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

function personOf(seed: number, subscriber: Subscriber): Customer {
  const { number, place } = subscriber;
  const card = cardOf(seed, number, place.country, coin(seed, number, 61, 5) < 0.3);
  const draw = (what: number) => coin(seed, number, what, 5);
  return {
    ...subscriber,
    card,
    issuer: issuerOf(seed, card.issuer),
    // Most look harmless; one in ten looks odd to its bank for as long as it pays this merchant.
    suspicion: draw(62) < 0.12 ? 0.5 + 1.1 * draw(63) : 0.35 * draw(63),
    memory: 0,
    rememberedAt: 0,
    paysOn: 1 + Math.floor(28 * draw(64)),
    fullness: draw(65) < 0.1 ? 0.25 + 0.75 * draw(66) : 0,
  };
}
