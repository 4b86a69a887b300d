import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import { keyedUniform } from "../worlds/keyed-uniform.ts";
import type { Bill, World } from "../worlds/world.ts";
import { oracle } from "./oracle.ts";
import { retryValueOfInvoice } from "./trial-money.ts";

const START = Date.UTC(2026, 0, 5);
/** Slots come every four hours, and only the best of each day is considered: the first one, if all of the day are alike. */
const SLOT_MS = 4 * HOUR_MS;
const BILL = { id: "b", subscriptionId: "s", amount: 2000, currency: "USD", createdAt: new Date(START) } as Bill;

/**
 * Returns the time that the oracle chooses after a first decline, in days. `chanceOn`: by day and the days of failed attempts.
 */
function chooseFirst(
  days: number,
  retriesLeft: number,
  chanceOn: (day: number, tried: number[]) => number,
): number | null {
  const dayOf = (at: Date) => Math.floor((+at - START - 1) / DAY_MS);
  const declined = { at: new Date(START), approved: false, paymentMethodType: "card", networkDeclineCode: "51" };
  const bill = { ...BILL, windowDays: days, first: declined };
  const world: World = {
    name: "days",
    bills: () => [bill],
    charge: () => declined,
    approval: (_, at, tried = []) => chanceOn(dayOf(at), tried.map(dayOf)),
  };
  const attempts = [{ bill, charge: declined }];
  const attemptMaps = { attempts, byCard: new Map(), byCustomer: new Map() };
  const open = { bill, charges: [declined], retriesLeft, endsAt: START + days * DAY_MS, ...attemptMaps };
  const choice = oracle(world).next(open, START);
  return choice && dayOf(new Date(choice.at));
}

/** Returns all sets of at most `size` of these days, in order. */
const setsOf = (days: number, size: number): number[][] =>
  Array.from({ length: 2 ** days }, (_, bits) => [...Array(days).keys()].filter((day) => bits & (1 << day))).filter(
    (set) => set.length <= size,
  );

test("the oracle's next retry begins the best of all plans when attempts are independent", () => {
  const { cost, valueAt } = retryValueOfInvoice(BILL);
  for (let seed = 0; seed < 60; seed++) {
    const days = 7;
    const chances = Array.from({ length: days }, (_, day) => 0.6 * keyedUniform(seed, day, 0, 1) ** 3);
    const valueOfPlan = (plan: readonly number[]) =>
      plan.reduceRight((rest, day) => {
        const chance = chances[day]!;
        return chance * valueAt(START + day * DAY_MS + SLOT_MS) - cost + (1 - chance) * rest;
      }, 0);
    const best = setsOf(days, 3).reduce((most, plan) => (valueOfPlan(plan) > valueOfPlan(most) ? plan : most), []);
    assert.equal(
      chooseFirst(days, 3, (day) => chances[day]!),
      best[0] ?? null,
      `seed ${seed}`,
    );
  }
});

test("the oracle accounts for the effect of a failed attempt on later ones", () => {
  const later = (day: number) => (day === 3 ? 0.6 : day >= 19 ? 0.55 : 0);
  assert.equal(chooseFirst(28, 2, later), 3);
  // After an attempt on the fourth day no other day has much of a chance.
  assert.equal(
    chooseFirst(28, 2, (day, tried) => (tried.includes(3) ? 0.05 : later(day))),
    19,
  );
});
