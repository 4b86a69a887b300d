import { zoneOf, offsetMs } from "../../src/decisions/local-time.ts";
import { planTries } from "../../src/decisions/plan-tries.ts";
import { whereabouts } from "../../src/decisions/whereabouts.ts";
import { type Belief, newBelief, newPerson, type Person } from "../../src/model/belief.ts";
import { forecast } from "../../src/model/forecast.ts";
import { nameWeight, type Reason } from "../../src/model/layout.ts";
import { countPerson, learnCase, learnFirst, learnOutcome } from "../../src/model/learn.ts";
import type { Learned } from "../../src/model/learned.ts";
import { declineGroup } from "../../src/rules/decline-group.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { costOf, dollars, lateFactor } from "./money.ts";
import { codesOf, instrumentOf, type Policy, rulesFor } from "./policy.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

interface Customer {
  person: Person;
  offsetMs: number;
  firsts: number;
  failed: number;
  lost: number;
  recovered: number;
  counted: boolean;
  zone: ReturnType<typeof zoneOf>;
}

const reasonOf = (charge: Charge): Reason => declineGroup(codesOf(charge), instrumentOf(charge)) as Reason;

export function dunlin(learned: Learned): Policy {
  const customers = new Map<string, Customer>();
  const beliefs = new Map<string, Belief>();

  function customerOf(bill: Bill): Customer {
    let c = customers.get(bill.customerId);
    if (!c) {
      const { country, zone } = whereabouts({ customerTimezone: null, cardCountry: bill.first.cardCountry ?? null, currency: bill.currency });
      c = { person: newPerson(learned, country ?? bill.currency), zone, offsetMs: 0, firsts: 0, failed: 0, lost: 0, recovered: 0, counted: false };
      customers.set(bill.customerId, c);
    }
    c.offsetMs = offsetMs(c.zone!, bill.createdAt.getTime());
    return c;
  }

  return {
    billed(bill) {
      const c = customerOf(bill);
      const reason = bill.first.approved ? null : reasonOf(bill.first);
      learnFirst(learned, c.person, names("f", bill, c, bill.first), c.offsetMs, bill.createdAt.getTime(), reason);
      c.firsts++;
      if (reason === null) return;
      if (!c.counted) {
        countPerson(learned, c.person);
        c.counted = true;
      }
      c.failed++;
      c.lost++;
    },
    next(open, now) {
      const c = customers.get(open.bill.customerId)!;
      const last = open.charges.at(-1)!;
      let belief = beliefs.get(open.bill.id);
      if (!belief) {
        const recent = open.attempts.map((a) => a.charge.at.getTime()).filter((t) => t > now - 7 * DAY_MS);
        belief = newBelief(learned, c.person, {
          reason: reasonOf(last),
          names: names("r", open.bill, c, last),
          offsetMs: c.offsetMs,
          failedAt: now,
          recent,
        });
        beliefs.set(open.bill.id, belief);
        learnCase(learned, belief);
      }
      if (["HARD_CARD", "REVOKED", "FRAUD"].includes(belief.reason)) return null;
      const rules = rulesFor(open);
      const slots: number[] = [];
      const local = Math.floor((now + belief.offsetMs) / (4 * HOUR_MS));
      for (let n = local + 1; ; n++) {
        const at = n * 4 * HOUR_MS + HOUR_MS - belief.offsetMs;
        if (at >= open.endsAt) break;
        if (at < now + 2 * HOUR_MS) continue;
        if (rules.allow(at)) slots.push(at);
      }
      if (open.endsAt - HOUR_MS / 2 > (slots.at(-1) ?? 0) + HOUR_MS && rules.allow(open.endsAt - HOUR_MS / 2)) slots.push(open.endsAt - HOUR_MS / 2);
      if (slots.length === 0) return null;
      const plan = planTries(forecast(learned, belief, slots), open.triesLeft, {
        worthAt: (at) => lateFactor(open.bill, at),
        cost: (costOf(open.bill) / open.bill.amount) * COST,
      });
      const at = plan.at[0];
      return at === undefined ? null : { at, probability: plan.chance };
    },
    answered(open, choice, charge) {
      const c = customers.get(open.bill.customerId)!;
      const belief = beliefs.get(open.bill.id)!;
      learnOutcome(learned, c.person, belief, choice.at, charge.approved ? null : reasonOf(charge));
      if (charge.approved) {
        c.lost--;
        c.recovered++;
        beliefs.delete(open.bill.id);
      }
    },
  };
}
const COST = 1;

function names(stage: string, bill: Bill, c: Customer, charge: Charge): Int32Array {
  const amount = Math.round(Math.log2(Math.max(1, dollars(bill))));
  const tenure = Math.round(Math.log2(1 + Math.max(0, bill.createdAt.getTime() - bill.subscriptionCreatedAt.getTime()) / DAY_MS / 20));
  const rate = Math.round((4 * (c.failed + 0.3)) / (c.firsts + 2));
  const list = [
    `amount:${amount}`,
    `tenure:${tenure}`,
    `period:${bill.billingPeriod}${bill.billingPeriodUnit}`,
    `merchant:${bill.merchantKey}`,
    `country:${charge.cardCountry ?? bill.currency}`,
    `funding:${charge.cardFunding}`,
    `brand:${charge.cardBrand}`,
    `method:${charge.paymentMethodType}`,
    `issuer:${charge.cardIssuer}`,
    `rate:${rate}:${Math.min(4, Math.round(Math.log2(1 + c.firsts)))}`,
    `past:${Math.min(2, c.recovered)}:${Math.min(2, c.lost)}`,
  ];
  if (stage === "r") list.push(`code:${charge.networkDeclineCode}:${charge.networkAdviceCode}`);
  return Int32Array.from(list, (name) => nameWeight(`${stage}${name}`));
}
