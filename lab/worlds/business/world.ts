import { isTemporaryDecline } from "../decline-code-kinds.ts";
import { downChance } from "../issuer-outages.ts";
import { DAY_MS } from "../keyed-uniform.ts";
import { createRandomStream } from "../random-stream.ts";
import { createFutureOracle } from "../simulated-futures.ts";
import { advanceLife } from "../simulated-life.ts";
import { STEP_MS, stepOf } from "../simulation-steps.ts";
import { type Bill, type Charge, type CreateWorld, parseNumberOptions } from "../world.ts";
import { buildCharge, computeSuspicion, findRefusal } from "./answers.ts";
import type { Company } from "./companies.ts";
import { advanceStep, applyFailure, applyPayment, hasFundsFor, localStepOf, newFundingState } from "./company-funds.ts";
import { declineRate, MAX_DECLINE_MEMORY } from "./issuers.ts";
import { createSubscriptions, generateBills, type Subscription } from "./subscriptions.ts";

/**
 * World 4: software paid by companies in many time zones, without pay days. Limits fill up and reset, prepaid cards are filled in
 * office hours, lines are paid down monthly, virtual cards are capped for one vendor. Suspicion rises with declines and fades.
 *
 * Options: `edge` (share of companies whose limits are used up before they reset), `gone` (departures per company and year).
 */
export const world: CreateWorld = (options) => {
  const shares = parseNumberOptions(options, { edge: 0.115, gone: 0.18 }, ["edge"]);
  const random = createRandomStream();
  const foresight = createFutureOracle(() => newFundingState(0));
  let seed = 0;
  let now = 0;
  let subscriptions: Subscription[] = [];

  const subscriptionOf = (bill: { customerId: string }) => subscriptions[Number(bill.customerId.slice(9))]!;

  const advance = (company: Company, until: number) =>
    advanceLife(company, until, (step) => {
      random.begin(seed, company.number, step, 131);
      advanceStep(company, company.state, localStepOf(company, step), random);
    });

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const subscription = subscriptionOf(bill);
    const { company } = subscription;
    const { state } = company;
    const amount = bill.amount / 100;
    advance(company, stepOf(at));
    company.version++;
    const code = findRefusal(seed, subscription, amount, at);
    const charge = buildCharge(seed, subscription, at, code);
    if (code === null) applyPayment(company, state, amount);
    else if (state.awaits !== null && code === company.replacement.code) state.refusedFor ||= 1;
    else if (isTemporaryDecline(code) && !company.hasLeft) {
      state.memory = Math.min(MAX_DECLINE_MEMORY, state.memory + company.issuer.memory);
      if (!hasFundsFor(company, state, amount)) applyFailure(state);
    }
    return charge;
  }

  const futuresOf = (bill: Bill, company: Company) =>
    foresight.openFutures({
      billId: bill.id,
      version: company.version,
      now,
      until: bill.createdAt.getTime() + (bill.windowDays + 1) * DAY_MS,
      state: company.state,
      begin: (step) => random.begin(seed, company.number, step, 132),
      live(states, step) {
        const localStep = localStepOf(company, step);
        for (const state of states) advanceStep(company, state, localStep, random);
      },
      outcomeOf: (state) =>
        state.awaits === null && hasFundsFor(company, state, bill.amount / 100) ? state.heat + state.memory : Infinity,
    });

  return {
    name: "business",
    *bills(givenSeed, customers) {
      seed = givenSeed;
      now = 0;
      foresight.forget();
      subscriptions = createSubscriptions(seed, customers, shares, random);
      for (const bill of generateBills(seed, subscriptions))
        yield { ...bill, first: attempt(bill, bill.createdAt.getTime()) };
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    approval(bill, at, tried = []) {
      const subscription = subscriptionOf(bill);
      const { company } = subscription;
      const { issuer } = company;
      advance(company, stepOf(now));
      // The oracle foresees neither departures nor replaced cards.
      if (company.hasLeft) return 0;
      const futures = futuresOf(bill, company);
      const time = at.getTime();
      let memory = 0;
      let since = time;
      const fade = (until: number) => {
        memory *= issuer.keeps ** (Math.max(0, until - since) / STEP_MS);
        since = until;
      };
      for (const each of tried) {
        const attemptedAt = each.getTime();
        if (attemptedAt >= time) continue;
        fade(attemptedAt);
        const suspicion = computeSuspicion(subscription, attemptedAt) + memory;
        futures.weighFailure(attemptedAt, (value) => (1 - MIN_FAILURE_CHANCE) * (1 - declineRate(suspicion + value)));
        memory = Math.min(MAX_DECLINE_MEMORY, memory + issuer.memory);
      }
      fade(time);
      const suspicion = computeSuspicion(subscription, time) + memory;
      return (
        futures.chance(time, (value) => 1 - declineRate(suspicion + value)) * (1 - downChance(issuer.uptime, now, time))
      );
    },
  };
};

/** Other reasons exist, so a failure rules out no future. */
const MIN_FAILURE_CHANCE = 0.02;
