import { findRules, type OpenCase, type Policy } from "../trial/policy.ts";
import { retryValueOfInvoice } from "../trial/trial-money.ts";
import { findBlockEnd, refusalRateAt } from "../worlds/consumers/answers.ts";
import { createIssuers } from "../worlds/consumers/issuers.ts";
import { createPerson, type Person } from "../worlds/consumers/people.ts";
import { createSubscriptions, mailReadRate } from "../worlds/consumers/subscriptions.ts";
import { SIMULATION_START, YEAR_START } from "../worlds/consumers/year.ts";
import { isTemporaryDecline } from "../worlds/decline-code-kinds.ts";
import { downChance, isOutageCode } from "../worlds/issuer-outages.ts";
import { DAY_MS, HOUR_MS } from "../worlds/keyed-uniform.ts";
import { createRandomStream, type RandomStream } from "../worlds/random-stream.ts";
import { stepOf } from "../worlds/simulation-steps.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { createLife, type ObservedCharge } from "./candidate-life.ts";
import { advanceLives, observeCharge, type ParticleFilter, simulateAhead } from "./particle-filter.ts";
import { planOnLives, type Slot } from "./plan-on-lives.ts";

const LIFE_COUNT = 3000;
const AHEAD_LIFE_COUNT = 600;
/** No world uses this seed. */
const POPULATION_SIZE = 60_000;
const POPULATION_SEED = 7_000_001;
const SCALES = { tight: 1, left: 1 };
const SLOT_MS = 4 * HOUR_MS;
const SLOTS_PER_DAY = 6;

interface VisibleCustomer {
  looks: Pick<Person, "country" | "issuer" | "funding" | "offsets">;
  seen: ObservedCharge[];
  reachedAt: number;
  cards: string[];
  declinedAt: number;
  blockedUntil: number;
  /** Updated with the first `believed` charges; null until needed. */
  belief: ParticleFilter | null;
  believed: number;
}

/**
 * Creates a policy that knows the consumers world's laws, but sees only the answers to charges, as a merchant does. Like the
 * oracle, it foresees neither departures nor replaced cards. Close to an engine's best, but no bound, because its lives are few.
 *
 * @param lives  weighed for a customer
 * @param ahead  simulated for a plan
 */
export function createLawAwarePolicy(
  seed: number,
  customers: number,
  lives = LIFE_COUNT,
  ahead = AHEAD_LIFE_COUNT,
): Policy {
  const luck = createRandomStream();
  const subscriptions = createSubscriptions(seed, customers, SCALES, luck);
  const people = Map.groupBy(generatePopulation(seed, luck), visibleKeyOf);
  const known = new Map<number, VisibleCustomer>();
  for (const { person } of subscriptions) known.set(person.number, newVisibleCustomer(person));
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
      days: (at - (of.reachedAt || YEAR_START)) / DAY_MS,
      alarmed: (at - (of.reachedAt || SIMULATION_START)) / DAY_MS,
      amount: bill.amount / 100,
      code,
      advice: charge.networkAdviceCode,
      card: of.cards.indexOf(card),
      isBlocked: at < of.blockedUntil,
      mail: mailReadRate(subscriptionOf(bill).merchant),
      billedBefore: isFirst ? (before ?? 0) : 0,
      signedUp: isFirst && before === undefined ? bill.subscriptionCreatedAt.getTime() : null,
    });
    if (isFirst) billed.set(bill.subscriptionId, at);
    if (!isOutageCode(code)) of.reachedAt = at;
    if (code === null || !isTemporaryDecline(code)) return;
    if (at >= of.blockedUntil) of.blockedUntil = findBlockEnd(of.looks.issuer, at, of.declinedAt);
    of.declinedAt = at;
  }

  function firstBelief({ looks }: VisibleCustomer): ParticleFilter {
    const alike = people.get(visibleKeyOf(looks))!;
    const found = Array.from({ length: lives }, () => alike[Math.floor(luck.draw() * alike.length)]!);
    return {
      lives: found.map((person) => createLife({ ...person, issuer: looks.issuer, offsets: looks.offsets })),
      weights: new Float64Array(lives).fill(1),
      step: stepOf(SIMULATION_START),
    };
  }

  function beliefOf(of: VisibleCustomer, now: number): ParticleFilter {
    of.belief ??= firstBelief(of);
    for (const seen of of.seen.slice(of.believed)) {
      advanceLives(of.belief, stepOf(seen.at), luck);
      observeCharge(of.belief, seen, luck);
    }
    of.believed = of.seen.length;
    advanceLives(of.belief, stepOf(now), luck);
    return of.belief;
  }

  function slotsOf({ bill, endsAt }: OpenCase, allow: (at: number) => boolean, now: number): Slot[] {
    const { looks, declinedAt, blockedUntil } = knownOf(bill);
    const { issuer } = looks;
    const { valueAt } = retryValueOfInvoice(bill);
    const from = Math.max(blockedUntil, issuer.isStrict ? declinedAt + DAY_MS : 0);
    const belief = beliefOf(knownOf(bill), now);
    const paid = simulateAhead(belief, ahead, stepOf(endsAt) - belief.step + 1, bill.amount / 100, luck);
    const found: Slot[] = [];
    for (let day = now + SLOT_MS; day < endsAt; day += DAY_MS) {
      const slots = Array.from({ length: SLOTS_PER_DAY }, (_, n) => day + n * SLOT_MS)
        .filter((at) => at < endsAt && at >= from && allow(at))
        .map((at) => ({
          at,
          paid: paid[Math.max(0, stepOf(at) - belief.step)]!,
          chance: (1 - refusalRateAt(looks, at)) * (1 - downChance(issuer.uptime, now, at)),
          worth: valueAt(at),
        }));
      if (slots.length > 0) found.push(slots.reduce((a, b) => (slotChance(b) > slotChance(a) + 1e-6 ? b : a)));
    }
    return found;
  }

  return {
    billed: (bill) => see(bill, bill.first),
    answered: ({ bill }, _choice, charge) => see(bill, charge),
    next(open, now) {
      const { allow, triesMax } = findRules(open);
      const rest = knownOf(open.bill).looks.issuer.isStrict ? DAY_MS : 0;
      const { cost } = retryValueOfInvoice(open.bill);
      const [first] = planOnLives(slotsOf(open, allow, now), Math.min(open.triesLeft, triesMax), cost, rest);
      return first ? { at: first.at, chance: slotChance(first) } : null;
    },
  };
}

const slotChance = ({ paid, chance }: Slot) => (chance * paid.reduce((sum, each) => sum + each, 0)) / paid.length;

const newVisibleCustomer = (looks: VisibleCustomer["looks"]): VisibleCustomer => ({
  looks,
  seen: [],
  reachedAt: 0,
  cards: [],
  declinedAt: 0,
  blockedUntil: 0,
  belief: null,
  believed: 0,
});

function* generatePopulation(seed: number, luck: RandomStream) {
  const issuers = createIssuers(seed, luck);
  for (let number = 0; number < POPULATION_SIZE; number++)
    yield createPerson(seed + POPULATION_SEED, number, issuers, SCALES);
}

const visibleKeyOf = ({ country, funding }: Pick<Person, "country" | "funding">) => `${country.code} ${funding}`;
