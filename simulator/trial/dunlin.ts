import {
  caseNames,
  caseRows,
  codeWeight,
  nameWeights,
  newPast,
  type Past,
  standingOf,
  type Traits,
} from "../../src/decisions/case-names.ts";
import { chooseTry } from "../../src/decisions/choose-try.ts";
import { offsetMs } from "../../src/decisions/local-time.ts";
import { BANK_ATTEMPTS, BANK_ATTEMPTS_MS, type BankAttempt, downAt, upAgainAt } from "../../src/decisions/outage.ts";
import { whereabouts } from "../../src/decisions/whereabouts.ts";
import { type Belief, newBelief, newPerson, type Person } from "../../src/model/belief.ts";
import type { Reason } from "../../src/model/layout.ts";
import { countPerson, learnCase, learnFirst, learnOutcome } from "../../src/model/learn.ts";
import { cycleChances, type Learned } from "../../src/model/learned.ts";
import { CYCLES } from "../../src/model/pay-cycles.ts";
import { declineGroup } from "../../src/rules/decline-group.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { costShare, dollars, lateFactor } from "./money.ts";
import { codesOf, instrumentOf, type OpenCase, type Policy, rulesFor } from "./policy.ts";

const DAY_MS = 86_400_000;

interface Customer {
  person: Person;
  past: Past;
}

/**
 * Reasons after which the service stops for good. After others it asks for another card, which no world can answer: so here it goes on
 * as every policy does, where the network's rules allow it and a try is worth its cost, since banks replace cards by themselves.
 */
const OVER: ReadonlySet<Reason> = new Set(["REVOKED", "FRAUD"]);

const reasonOf = (charge: Charge): Reason => declineGroup(codesOf(charge), instrumentOf(charge));

interface Options {
  /** Is told every name that was met, for whoever makes a prior. */
  named?(name: string): void;
  /** Says how a customer is paid, in place of what was seen of it; null: nobody knows. */
  tell?(bill: Bill): Float64Array | null;
  /** Hears of each try what chance of approval it was given, and what came of it. */
  foresaw?(chance: number, approved: boolean): void;
}

/**
 * Dunlin's own engine as a policy: cold with a new model, warm with one that starts from a prior.
 *
 * @param learned  goes on learning from every outcome
 */
export function dunlin(learned: Learned, { named, tell, foresaw }: Options = {}): Policy {
  const customers = new Map<string, Customer>();
  const beliefs = new Map<string, Belief>();
  /** By issuer: the latest attempts there, the latest last. */
  const atBanks = new Map<string, BankAttempt[]>();

  function customerOf(bill: Bill): Customer {
    let customer = customers.get(bill.customerId);
    if (!customer) {
      const person = newPerson(learned, countryOf(bill));
      believeTold(person, bill);
      customer = { person, past: newPast() };
      customers.set(bill.customerId, customer);
    } else {
      keepUp(customer.person);
      believeTold(customer.person, bill);
    }
    return customer;
  }

  /** What was learned of the country since, as if the person's own charges were looked at anew: the service recalls them each time. */
  function keepUp(person: Person) {
    const usual = cycleChances(learned, person.country);
    let total = 0;
    for (let c = 0; c < CYCLES; c++) {
      person.cycles[c]! *= usual[c]! / person.usual[c]!;
      total += person.cycles[c]!;
    }
    for (let c = 0; c < CYCLES; c++) person.cycles[c]! /= total;
    person.usual = usual;
  }

  /** What was told stays true whatever is seen. */
  function believeTold(person: Person, bill: Bill) {
    const cycles = tell?.(bill);
    if (cycles) person.cycles.set(cycles);
  }

  function weightsOf(names: readonly string[]): Int32Array {
    if (named) names.forEach(named);
    return nameWeights(names);
  }

  function beliefOf(open: OpenCase, now: number): Belief {
    let belief = beliefs.get(open.bill.id);
    if (belief) return belief;
    const customer = customers.get(open.bill.customerId)!;
    const { bill } = open;
    const traits = traitsOf(bill, customer, bill.first);
    belief = newBelief(learned, customer.person, {
      reason: reasonOf(bill.first),
      code: bill.first.networkDeclineCode ?? null,
      standing: standingOf(customer.past),
      names: weightsOf(caseNames("r", traits)),
      codeName: codeWeight(traits),
      rows: caseRows(traits),
      offsetMs: offsetOf(bill),
      failedAt: now,
      recent: open.attempts.map(({ charge }) => charge.at.getTime()).filter((at) => at > now - 7 * DAY_MS),
    });
    beliefs.set(bill.id, belief);
    learnCase(learned, belief);
    return belief;
  }

  function note(charge: Charge, customer: string) {
    if (charge.cardIssuer === undefined) return;
    const isDown = !charge.approved && reasonOf(charge) === "ISSUER_DOWN";
    const latest = [...(atBanks.get(charge.cardIssuer) ?? []), { customer, at: charge.at, isDown }];
    atBanks.set(charge.cardIssuer, latest.slice(-BANK_ATTEMPTS));
  }

  /** From when on the issuer of a charge may be tried, as far as was seen until `now`; 0: at any time. */
  function triableAt({ cardIssuer }: Charge, now: number) {
    const latest = (cardIssuer !== undefined && atBanks.get(cardIssuer)) || [];
    const down = downAt(latest.filter(({ at }) => now - at.getTime() < BANK_ATTEMPTS_MS));
    return down === null ? 0 : upAgainAt(down);
  }

  return {
    billed(bill) {
      const customer = customerOf(bill);
      const { past, person } = customer;
      const reason = bill.first.approved ? null : reasonOf(bill.first);
      const names = weightsOf(caseNames("f", traitsOf(bill, customer, bill.first)));
      learnFirst(learned, person, names, offsetOf(bill), bill.createdAt.getTime(), reason);
      believeTold(person, bill);
      past.firsts++;
      note(bill.first, bill.customerId);
      if (reason === null) return;
      if (past.declined === 0) countPerson(learned, person);
      past.declined++;
      past.unpaid++;
    },
    next(open, now) {
      const belief = beliefOf(open, now);
      if (OVER.has(belief.reason)) return null;
      const rules = rulesFor(open);
      const triesLeft = Math.min(open.triesLeft, rules.triesMax);
      const upAt = triableAt(open.charges.at(-1)!, now);
      const choose = (from: number) =>
        chooseTry(learned, belief, {
          key: open.bill.id,
          now,
          windowEndsAt: open.endsAt,
          triesLeft,
          allow: (at) => at >= from && rules.allow(at),
          limits: rules.limits(now, triesLeft),
          stakes: { worthAt: (at) => lateFactor(open.bill, at), cost: costShare(open.bill) },
        });
      const chosen = (upAt > now && choose(upAt)) || choose(0);
      return chosen && { at: chosen.at, probability: chosen.chance };
    },
    reconsidered(open, choice) {
      const upAt = triableAt(open.charges.at(-1)!, choice.at);
      return upAt > choice.at && upAt < open.endsAt ? { ...choice, at: upAt } : choice;
    },
    answered(open, choice, charge) {
      const { person, past } = customers.get(open.bill.customerId)!;
      const belief = beliefs.get(open.bill.id)!;
      const chance = learnOutcome(learned, person, belief, choice.at, charge.approved ? null : reasonOf(charge));
      foresaw?.(chance, charge.approved);
      note(charge, open.bill.customerId);
      believeTold(person, open.bill);
      if (!charge.approved) return;
      past.unpaid--;
      past.recovered++;
      past.lastReason = reasonOf(open.bill.first);
      beliefs.delete(open.bill.id);
    },
  };
}

const placeOf = (bill: Bill) =>
  whereabouts({ customerTimezone: null, cardCountry: bill.first.cardCountry ?? null, currency: bill.currency });

const countryOf = (bill: Bill) => placeOf(bill).country ?? bill.currency;
const offsetOf = (bill: Bill) => offsetMs(placeOf(bill).zone, bill.createdAt.getTime());

function traitsOf(bill: Bill, { past }: Customer, last: Charge): Traits {
  return {
    dollars: dollars(bill),
    tenureDays: (bill.createdAt.getTime() - bill.subscriptionCreatedAt.getTime()) / DAY_MS,
    billingPeriod: bill.billingPeriod,
    billingPeriodUnit: bill.billingPeriodUnit,
    merchant: bill.merchantKey,
    country: countryOf(bill),
    paymentMethodType: last.paymentMethodType,
    network: last.cardBrand ?? null,
    funding: last.cardFunding ?? null,
    issuer: last.cardIssuer ?? null,
    declineCode: last.networkDeclineCode ?? null,
    adviceCode: last.networkAdviceCode ?? null,
    past,
  };
}
