import { isForNow } from "../codes.ts";
import { DAY_MS } from "../coin.ts";
import { createForesight } from "../futures.ts";
import { liveOn } from "../lives.ts";
import { createLuck } from "../luck.ts";
import { downChance } from "../outages.ts";
import { STEP_MS, stepAt } from "../steps.ts";
import { type Bill, type Charge, type CreateWorld, numberOptions } from "../world.ts";
import { chargeOf, refusalOf, suspicionAt } from "./answers.ts";
import type { Company } from "./companies.ts";
import { declines, MOST_MEMORY } from "./issuers.ts";
import { covers, live, missed, momentOf, newState, pay } from "./money.ts";
import { billsOf, type Subscription, subscriptionsOf } from "./subscriptions.ts";

/**
 * World 4: software paid by companies in many time zones. Nobody has a pay day: limits run full and turn, prepaid cards
 * are filled in office hours, lines are paid down once a month, virtual cards are capped for one vendor. Beside it: an
 * issuer's suspicion that heats up and cools down and that declined tries add to, replaced cards, outages of issuers,
 * companies that are gone.
 *
 * Options: `edge` (share of companies whose limits are gone before they turn), `gone` (how many leave for good, a
 * company and year).
 */
export const world: CreateWorld = (options) => {
  const shares = numberOptions(options, { edge: 0.115, gone: 0.18 }, ["edge"]);
  const luck = createLuck();
  const foresight = createForesight(() => newState(0));
  let seed = 0;
  let now = 0;
  let subscriptions: Subscription[] = [];

  const subscriptionOf = (bill: { customerId: string }) => subscriptions[Number(bill.customerId.slice(9))]!;

  const advance = (company: Company, until: number) =>
    liveOn(company, until, (step) => {
      luck.begin(seed, company.number, step, 131);
      live(company, company.state, momentOf(company, step), luck);
    });

  function attempt(bill: Omit<Bill, "first">, at: number): Charge {
    now = at;
    const subscription = subscriptionOf(bill);
    const { company } = subscription;
    const { state } = company;
    const amount = bill.amount / 100;
    advance(company, stepAt(at));
    company.version++;
    const code = refusalOf(seed, subscription, amount, at);
    const charge = chargeOf(seed, subscription, at, code);
    if (code === null) pay(company, state, amount);
    else if (state.awaits !== null && code === company.replacement.code) state.refusedFor ||= 1;
    else if (isForNow(code) && !company.hasLeft) {
      state.memory = Math.min(MOST_MEMORY, state.memory + company.issuer.memory);
      if (!covers(company, state, amount)) missed(state);
    }
    return charge;
  }

  /** Futures in which a charge meets so much suspicion, and no end of it where the card or the money is not there. */
  const futuresOf = (bill: Bill, company: Company) =>
    foresight.look({
      billId: bill.id,
      version: company.version,
      now,
      until: bill.createdAt.getTime() + (bill.windowDays + 1) * DAY_MS,
      state: company.state,
      begin: (step) => luck.begin(seed, company.number, step, 132),
      live(states, step) {
        const moment = momentOf(company, step);
        for (const state of states) live(company, state, moment, luck);
      },
      meets: (state) =>
        state.awaits === null && covers(company, state, bill.amount / 100) ? state.heat + state.memory : Infinity,
    });

  return {
    name: "business",
    *bills(givenSeed, customers) {
      seed = givenSeed;
      now = 0;
      foresight.forget();
      subscriptions = subscriptionsOf(seed, customers, shares, luck);
      for (const bill of billsOf(seed, subscriptions))
        yield { ...bill, first: attempt(bill, bill.createdAt.getTime()) };
    },
    charge: (bill, at) => attempt(bill, at.getTime()),
    approval(bill, at, tried = []) {
      const subscription = subscriptionOf(bill);
      const { company } = subscription;
      const { issuer } = company;
      advance(company, stepAt(now));
      // Whoever leaves later is not foreseen, nor is a card that is replaced later.
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
        const then = each.getTime();
        if (then >= time) continue;
        fade(then);
        const suspicion = suspicionAt(subscription, then) + memory;
        futures.inVain(then, (met) => (1 - MISSED) * (1 - declines(suspicion + met)));
        memory = Math.min(MOST_MEMORY, memory + issuer.memory);
      }
      fade(time);
      const suspicion = suspicionAt(subscription, time) + memory;
      return futures.chance(time, (met) => 1 - declines(suspicion + met)) * (1 - downChance(issuer.uptime, now, time));
    },
  };
};

/** A try may be in vain for what the futures don't hold, so that it never rules one out. */
const MISSED = 0.02;
