import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { DAY_MS, keyedUniform } from "../worlds/keyed-uniform.ts";
import type { Bill, Charge, World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import type { Policy } from "./policy.ts";
import { runTrial } from "./run-trial.ts";
import { computeFigures, type Figures } from "./trial-figures.ts";

const YEAR = Date.UTC(2025, 0, 1);

/**
 * Each customer has a large monthly and a small weekly invoice, and an account that is empty for 3 to 25 days in two of five
 * months.
 */
function createEmptyAccountsWorld(): World {
  let seed = 0;
  const isEmpty = (bill: Bill, at: Date) => {
    const month = Math.floor((at.getTime() - YEAR) / (30 * DAY_MS));
    const customer = Number(bill.customerId);
    if (keyedUniform(seed, customer, month, 1) > 0.4) return false;
    return at.getTime() < YEAR + month * 30 * DAY_MS + (3 + 22 * keyedUniform(seed, customer, month, 2)) * DAY_MS;
  };
  const charge = (bill: Bill, at: Date): Charge => {
    const approved = !isEmpty(bill, at);
    const card = { cardBrand: "visa", cardFingerprint: `card ${bill.customerId}`, cardCountry: "DE" };
    return { at, approved, paymentMethodType: "card", ...card, ...(approved ? {} : { networkDeclineCode: "51" }) };
  };
  return {
    name: "empty accounts",
    *bills(given, customers) {
      seed = given;
      for (let day = 0; day < 330; day++)
        for (let customer = 0; customer < customers; customer++) {
          const createdAt = new Date(YEAR + (day + customer / customers) * DAY_MS);
          const kinds = [
            ...(day % 30 === 0 ? (["month"] as const) : []),
            ...(day % 7 === 3 ? (["week"] as const) : []),
          ];
          for (const kind of kinds) {
            const isMonthly = kind === "month";
            const bill = {
              id: `${kind} ${customer} ${day}`,
              customerId: `${customer}`,
              subscriptionId: `${kind} ${customer}`,
              merchantKey: "shop",
              amount: isMonthly ? 5_900 : 900,
              currency: "EUR",
              planId: kind,
              billingPeriod: isMonthly ? 1 : 7,
              billingPeriodUnit: isMonthly ? ("MONTH" as const) : ("DAY" as const),
              subscriptionCreatedAt: new Date(YEAR - 100 * DAY_MS),
              createdAt,
              windowDays: 26,
            };
            yield { ...bill, first: charge(bill as Bill, createdAt) };
          }
        }
    },
    charge,
    approval: (bill, at) => Number(!isEmpty(bill, at)),
  };
}

test("the engine recovers more with fewer retries when it sees a customer's other invoices at once", () => {
  const seeds = [1, 2, 3, 4];
  const run = (policy: () => Policy) => {
    const runs = seeds.map((seed) => computeFigures(runTrial(createEmptyAccountsWorld(), policy(), seed, 80)));
    const mean = (select: (figures: Figures) => number) =>
      runs.reduce((sum, each) => sum + select(each), 0) / runs.length;
    return { value: mean(({ value }) => value), tries: mean(({ attemptsPerRecovery }) => attemptsPerRecovery!) };
  };
  const heeding = run(() => createDunlinPolicy(newLearnedModel()));
  const deaf = run(() => ({ ...createDunlinPolicy(newLearnedModel()), waits: undefined }));
  assert.ok(heeding.value > deaf.value + 0.005, `${heeding.value} for ${deaf.value}`);
  assert.ok(heeding.tries < deaf.tries, `${heeding.tries} for ${deaf.tries}`);
});
