import { stakesOfBill } from "../trial/money.ts";
import { type OpenCase, type Policy, rulesFor } from "../trial/policy.ts";
import { isForNow } from "../worlds/codes.ts";
import { DAY_MS, HOUR_MS } from "../worlds/coin.ts";
import { blockOf, refusedAt } from "../worlds/consumers/answers.ts";
import { issuersOf } from "../worlds/consumers/issuers.ts";
import { type Person, personOf } from "../worlds/consumers/people.ts";
import { mailOf, subscriptionsOf } from "../worlds/consumers/subscriptions.ts";
import { FROM, LIVES_FROM } from "../worlds/consumers/year.ts";
import { createLuck, type Luck } from "../worlds/luck.ts";
import { downChance, isOutage } from "../worlds/outages.ts";
import { stepAt } from "../worlds/steps.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { type Belief, liveUntil, lookAhead, observe } from "./belief.ts";
import { lifeOf, type Seen } from "./life.ts";
import { planOnLives, type Slot } from "./plan-on-lives.ts";

/** So many lives are weighed for each customer, and so many of them are lived ahead. */
const LIVES = 3000;
const AHEAD = 600;
/** The population that lives are drawn from: its seed is nobody's. */
const PEOPLE = 60_000;
const OTHERS = 7_000_001;
const SCALES = { tight: 1, left: 1 };
/** Of each day's moments, so far apart, the best one is looked at. */
const SLOT_MS = 4 * HOUR_MS;
const SLOTS_A_DAY = 6;

/** A customer, who may pay several merchants from one card, as far as merchants see. */
interface Known {
  looks: Pick<Person, "country" | "issuer" | "funding" | "offsets">;
  seen: Seen[];
  /** The last charge that reached the issuer, ms; 0: none has. */
  reachedAt: number;
  cards: string[];
  declinedAt: number;
  blockedUntil: number;
  /** By so many of the charges that were seen; null: nobody has asked yet. */
  belief: Belief | null;
  believed: number;
}

/**
 * About the best that an engine could hope for in the world of consumers, though no bound, since its lives are few: a
 * policy that knows the world's laws by heart (the population, its banks and their outages, its merchants, and where each customer is), and of each customer what
 * merchants see, the answers to charges. Nobody who leaves later is foreseen, nor is a card that is replaced later; the
 * oracle foresees them as little.
 *
 * @param lives  how many are weighed for a customer
 * @param ahead  how many are lived ahead for a plan
 */
export function knowsLaws(seed: number, customers: number, lives = LIVES, ahead = AHEAD): Policy {
  const luck = createLuck();
  const subscriptions = subscriptionsOf(seed, customers, SCALES, luck);
  const people = Map.groupBy(population(seed, luck), looksOf);
  const known = new Map<number, Known>();
  for (const { person } of subscriptions) known.set(person.number, stranger(person));
  const billed = new Map<string, number>();
  luck.begin(seed, customers, 0, 171);

  const subscriptionOf = ({ customerId }: Bill) => subscriptions[Number(customerId.slice(9))]!;
  const knownOf = (bill: Bill) => known.get(subscriptionOf(bill).person.number)!;

  function see(bill: Bill, charge: Charge) {
    const of = knownOf(bill);
    const at = charge.at.getTime();
    const isFirst = charge === bill.first;
    const card = charge.cardFingerprint!;
    if (!of.cards.includes(card)) of.cards.push(card);
    const code = charge.networkDeclineCode ?? null;
    const before = billed.get(bill.subscriptionId);
    of.seen.push({
      at,
      days: (at - (of.reachedAt || FROM)) / DAY_MS,
      alarmed: (at - (of.reachedAt || LIVES_FROM)) / DAY_MS,
      amount: bill.amount / 100,
      code,
      advice: charge.networkAdviceCode,
      card: of.cards.indexOf(card),
      isBlocked: at < of.blockedUntil,
      mail: mailOf(subscriptionOf(bill).merchant),
      billedBefore: isFirst ? (before ?? 0) : 0,
      signedUp: isFirst && before === undefined ? bill.subscriptionCreatedAt.getTime() : null,
    });
    if (isFirst) billed.set(bill.subscriptionId, at);
    if (!isOutage(code)) of.reachedAt = at;
    if (code === null || !isForNow(code)) return;
    if (at >= of.blockedUntil) of.blockedUntil = blockOf(of.looks.issuer, at, of.declinedAt);
    of.declinedAt = at;
  }

  /** Lives of people who look like this one from outside. */
  function firstBelief({ looks }: Known): Belief {
    const alike = people.get(looksOf(looks))!;
    const found = Array.from({ length: lives }, () => alike[Math.floor(luck.draw() * alike.length)]!);
    return {
      lives: found.map((person) => lifeOf({ ...person, issuer: looks.issuer, offsets: looks.offsets })),
      weights: new Float64Array(lives).fill(1),
      step: stepAt(LIVES_FROM),
    };
  }

  function beliefOf(of: Known, now: number): Belief {
    of.belief ??= firstBelief(of);
    for (const seen of of.seen.slice(of.believed)) {
      liveUntil(of.belief, stepAt(seen.at), luck);
      observe(of.belief, seen, luck);
    }
    of.believed = of.seen.length;
    liveUntil(of.belief, stepAt(now), luck);
    return of.belief;
  }

  /** The best slot of each day that the rules and the issuer allow. */
  function slotsOf({ bill, endsAt }: OpenCase, allow: (at: number) => boolean, now: number): Slot[] {
    const { looks, declinedAt, blockedUntil } = knownOf(bill);
    const { issuer } = looks;
    const { worthAt } = stakesOfBill(bill);
    const from = Math.max(blockedUntil, issuer.isStrict ? declinedAt + DAY_MS : 0);
    const belief = beliefOf(knownOf(bill), now);
    const paid = lookAhead(belief, ahead, stepAt(endsAt) - belief.step + 1, bill.amount / 100, luck);
    const found: Slot[] = [];
    for (let day = now + SLOT_MS; day < endsAt; day += DAY_MS) {
      const slots = Array.from({ length: SLOTS_A_DAY }, (_, n) => day + n * SLOT_MS)
        .filter((at) => at < endsAt && at >= from && allow(at))
        .map((at) => ({
          at,
          paid: paid[Math.max(0, stepAt(at) - belief.step)]!,
          chance: (1 - refusedAt(looks, at)) * (1 - downChance(issuer.uptime, now, at)),
          worth: worthAt(at),
        }));
      if (slots.length > 0) found.push(slots.reduce((a, b) => (chanceOf(b) > chanceOf(a) + 1e-6 ? b : a)));
    }
    return found;
  }

  return {
    billed: (bill) => see(bill, bill.first),
    answered: ({ bill }, _choice, charge) => see(bill, charge),
    next(open, now) {
      const { allow, triesMax } = rulesFor(open);
      const rest = knownOf(open.bill).looks.issuer.isStrict ? DAY_MS : 0;
      const { cost } = stakesOfBill(open.bill);
      const [first] = planOnLives(slotsOf(open, allow, now), Math.min(open.triesLeft, triesMax), cost, rest);
      return first ? { at: first.at, chance: chanceOf(first) } : null;
    },
  };
}

const chanceOf = ({ paid, chance }: Slot) => (chance * paid.reduce((sum, each) => sum + each, 0)) / paid.length;

const stranger = (looks: Known["looks"]): Known => ({
  looks,
  seen: [],
  reachedAt: 0,
  cards: [],
  declinedAt: 0,
  blockedUntil: 0,
  belief: null,
  believed: 0,
});

function* population(seed: number, luck: Luck) {
  const issuers = issuersOf(seed, luck);
  for (let number = 0; number < PEOPLE; number++) yield personOf(seed + OTHERS, number, issuers, SCALES);
}

const looksOf = ({ country, funding }: Pick<Person, "country" | "funding">) => `${country.code} ${funding}`;
