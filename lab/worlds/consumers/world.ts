import { isTemporaryDecline } from "../decline-code-kinds.ts";
import { downChance } from "../issuer-outages.ts";
import { DAY_MS, HOUR_MS, keyedUniform } from "../keyed-uniform.ts";
import { createRandomStream } from "../random-stream.ts";
import { createFutureOracle } from "../simulated-futures.ts";
import { advanceLife } from "../simulated-life.ts";
import { stepOf } from "../simulation-steps.ts";
import { type Bill, type Charge, type CreateWorld, parseNumberOptions } from "../world.ts";
import { buildCharge, findBlockEnd, findRefusal, refusalRateAt } from "./answers.ts";
import type { Person } from "./people.ts";
import { advanceStep, applyFailure, applyPayment, canPay, localStepOf, newPersonState } from "./person-funds.ts";
import { createSubscriptions, generateBills, mailReadRate, type Subscription } from "./subscriptions.ts";
import { CALENDAR } from "./year.ts";

/**
 * World 5: streaming, gyms, boxes and news paid from debit cards and wallets. Money comes as wages, jobs, benefits and top-ups
 * after a mail, and goes in proportion to the balance. A charge needs money, a good card, an issuer that is up, no hold, and room
 * in the day's limit. Some issuers block a card after two declines in a day.
 *
 * Options: `tight` (scale of the share of households that live from hand to mouth), `left` (scale of the share of customers who
 * leave for good).
 */
export const world: CreateWorld = (options) => {
  const scales = parseNumberOptions(options, { tight: 1, left: 1 });
  const random = createRandomStream();
  const foresight = createFutureOracle(newPersonState);
  let seed = 0;
  let now = 0;
  let subscriptions: Subscription[] = [];

  const subscriptionOf = (bill: { customerId: string }) => subscriptions[Number(bill.customerId.slice(9))]!;

  const advance = (person: Person, until: number) =>
    advanceLife(person, until, (step) => {
      random.begin(seed, person.number, step, 161);
      advanceStep(person, person.state, localStepOf(person, step), random);
    });

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const { person, merchant } = subscriptionOf(bill);
    const { state } = person;
    const amount = bill.amount / 100;
    advance(person, stepOf(at));
    person.version++;
    const code = findRefusal(seed, person, amount, at);
    const charge = buildCharge(seed, person, at, code);
    if (code === null) {
      applyPayment(state, amount);
      return charge;
    }
    if (state.awaits !== null && code === person.replacement.code) state.refusedFor ||= 1;
    if (!isTemporaryDecline(code)) return charge;
    if (at >= person.blockedUntil) person.blockedUntil = findBlockEnd(person.issuer, at, person.declinedAt);
    person.declinedAt = at;
    const isRead =
      keyedUniform(seed, person.number, Math.floor(at / HOUR_MS), 162) < person.attention * mailReadRate(merchant);
    if (isRead && !person.hasLeft && state.noticedFor === 0) applyFailure(state, amount);
    return charge;
  }

  /** Paid (1) or not (0). */
  const futuresOf = (bill: Bill, person: Person) =>
    foresight.openFutures({
      billId: bill.id,
      version: person.version,
      now,
      until: bill.createdAt.getTime() + (bill.windowDays + 1) * DAY_MS,
      state: person.state,
      begin: (step) => random.begin(seed, person.number, step, 163),
      live(states, step) {
        const localStep = localStepOf(person, step);
        for (const state of states) advanceStep(person, state, localStep, random);
      },
      outcomeOf: (state) => Number(canPay(person, state, bill.amount / 100)),
    });

  return {
    name: "consumers",
    *bills(givenSeed, customers) {
      seed = givenSeed;
      now = 0;
      foresight.forget();
      subscriptions = createSubscriptions(seed, customers, scales, random);
      for (const bill of generateBills(seed, subscriptions))
        yield { ...bill, first: attempt(bill, bill.createdAt.getTime()) };
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    payDays(bill) {
      const { payDays, grantDays } = subscriptionOf(bill).person;
      // Jobs have no pay days and cannot be predicted.
      if (!payDays.includes(1) && !grantDays.includes(1)) return null;
      return (day) => [payDays, grantDays].some((days) => days[day - CALENDAR.firstDay] === 1);
    },
    approval(bill, at, tried = []) {
      const { person } = subscriptionOf(bill);
      const { issuer } = person;
      advance(person, stepOf(now));
      // The oracle foresees neither departures nor replaced cards.
      if (person.hasLeft) return 0;
      const futures = futuresOf(bill, person);
      const time = at.getTime();
      let { declinedAt, blockedUntil } = person;
      for (const each of tried) {
        const attemptedAt = each.getTime();
        if (attemptedAt >= time) continue;
        // An attempt on a blocked card shows nothing about the money.
        if (attemptedAt >= blockedUntil) {
          blockedUntil = findBlockEnd(issuer, attemptedAt, declinedAt);
          futures.weighFailure(attemptedAt, (value) => (1 - MIN_FAILURE_CHANCE) * value);
        }
        declinedAt = attemptedAt;
      }
      if (time < blockedUntil) return 0;
      return (
        futures.chance(time, (value) => value) *
        (1 - refusalRateAt(person, time)) *
        (1 - downChance(issuer.uptime, now, time))
      );
    },
  };
};

/** An attempt can fail for other reasons, so it rules out no future. */
const MIN_FAILURE_CHANCE = 0.04;
