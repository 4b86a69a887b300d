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
  visible: Pick<Person, "country" | "issuer" | "funding" | "offsets">;
  charges: ObservedCharge[];
  reachedAt: number;
  cards: string[];
  declinedAt: number;
  blockedUntil: number;
  /** With the first `observedCount` charges. */
  filter: ParticleFilter | null;
  observedCount: number;
}

/**
 * Knows the consumers world's laws, but sees only answers, and foresees neither departures nor replaced cards. Close to an
 * engine's best, but no bound, because its lives are few.
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
  const random = createRandomStream();
  const subscriptions = createSubscriptions(seed, customers, SCALES, random);
  const people = Map.groupBy(generatePopulation(seed, random), visibleKeyOf);
  const customersByNumber = new Map<number, VisibleCustomer>();
  for (const { person } of subscriptions) customersByNumber.set(person.number, newVisibleCustomer(person));
  const billed = new Map<string, number>();
  random.begin(seed, customers, 0, 171);

  const subscriptionOf = ({ customerId }: Bill) => subscriptions[Number(customerId.slice(9))]!;
  const customerOf = (bill: Bill) => customersByNumber.get(subscriptionOf(bill).person.number)!;

  function recordCharge(bill: Bill, charge: Charge) {
    const customer = customerOf(bill);
    const at = charge.at.getTime();
    const isFirst = charge === bill.first;
    const card = charge.cardFingerprint!;
    if (!customer.cards.includes(card)) customer.cards.push(card);
    const code = charge.networkDeclineCode ?? null;
    const previousAt = billed.get(bill.subscriptionId);
    customer.charges.push({
      at,
      days: (at - (customer.reachedAt || YEAR_START)) / DAY_MS,
      alarmed: (at - (customer.reachedAt || SIMULATION_START)) / DAY_MS,
      amount: bill.amount / 100,
      code,
      advice: charge.networkAdviceCode,
      card: customer.cards.indexOf(card),
      isBlocked: at < customer.blockedUntil,
      mail: mailReadRate(subscriptionOf(bill).merchant),
      billedBefore: isFirst ? (previousAt ?? 0) : 0,
      signedUp: isFirst && previousAt === undefined ? bill.subscriptionCreatedAt.getTime() : null,
    });
    if (isFirst) billed.set(bill.subscriptionId, at);
    if (!isOutageCode(code)) customer.reachedAt = at;
    if (code === null || !isTemporaryDecline(code)) return;
    if (at >= customer.blockedUntil)
      customer.blockedUntil = findBlockEnd(customer.visible.issuer, at, customer.declinedAt);
    customer.declinedAt = at;
  }

  function createFilter({ visible }: VisibleCustomer): ParticleFilter {
    const similarPeople = people.get(visibleKeyOf(visible))!;
    const found = Array.from({ length: lives }, () => similarPeople[Math.floor(random.draw() * similarPeople.length)]!);
    return {
      lives: found.map((person) => createLife({ ...person, issuer: visible.issuer, offsets: visible.offsets })),
      weights: new Float64Array(lives).fill(1),
      step: stepOf(SIMULATION_START),
    };
  }

  function updateFilter(customer: VisibleCustomer, now: number): ParticleFilter {
    customer.filter ??= createFilter(customer);
    for (const charge of customer.charges.slice(customer.observedCount)) {
      advanceLives(customer.filter, stepOf(charge.at), random);
      observeCharge(customer.filter, charge, random);
    }
    customer.observedCount = customer.charges.length;
    advanceLives(customer.filter, stepOf(now), random);
    return customer.filter;
  }

  function slotsOf({ bill, endsAt }: OpenCase, allow: (at: number) => boolean, now: number): Slot[] {
    const { visible, declinedAt, blockedUntil } = customerOf(bill);
    const { issuer } = visible;
    const { valueAt } = retryValueOfInvoice(bill);
    const from = Math.max(blockedUntil, issuer.isStrict ? declinedAt + DAY_MS : 0);
    const filter = updateFilter(customerOf(bill), now);
    const paid = simulateAhead(filter, ahead, stepOf(endsAt) - filter.step + 1, bill.amount / 100, random);
    const found: Slot[] = [];
    for (let day = now + SLOT_MS; day < endsAt; day += DAY_MS) {
      const slots = Array.from({ length: SLOTS_PER_DAY }, (_, n) => day + n * SLOT_MS)
        .filter((at) => at < endsAt && at >= from && allow(at))
        .map((at) => ({
          at,
          paid: paid[Math.max(0, stepOf(at) - filter.step)]!,
          chance: (1 - refusalRateAt(visible, at)) * (1 - downChance(issuer.uptime, now, at)),
          value: valueAt(at),
        }));
      if (slots.length > 0) found.push(slots.reduce((a, b) => (slotChance(b) > slotChance(a) + 1e-6 ? b : a)));
    }
    return found;
  }

  return {
    billed: (bill) => recordCharge(bill, bill.first),
    answered: ({ bill }, _choice, charge) => recordCharge(bill, charge),
    next(open, now) {
      const { allow, retriesMax } = findRules(open);
      const restMs = customerOf(open.bill).visible.issuer.isStrict ? DAY_MS : 0;
      const { cost } = retryValueOfInvoice(open.bill);
      const [first] = planOnLives(slotsOf(open, allow, now), Math.min(open.retriesLeft, retriesMax), cost, restMs);
      return first ? { at: first.at, chance: slotChance(first) } : null;
    },
  };
}

const slotChance = ({ paid, chance }: Slot) => (chance * paid.reduce((sum, each) => sum + each, 0)) / paid.length;

const newVisibleCustomer = (visible: VisibleCustomer["visible"]): VisibleCustomer => ({
  visible,
  charges: [],
  reachedAt: 0,
  cards: [],
  declinedAt: 0,
  blockedUntil: 0,
  filter: null,
  observedCount: 0,
});

function* generatePopulation(seed: number, random: RandomStream) {
  const issuers = createIssuers(seed, random);
  for (let number = 0; number < POPULATION_SIZE; number++)
    yield createPerson(seed + POPULATION_SEED, number, issuers, SCALES);
}

const visibleKeyOf = ({ country, funding }: Pick<Person, "country" | "funding">) => `${country.code} ${funding}`;
