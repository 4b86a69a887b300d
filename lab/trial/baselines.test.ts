import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../src/domain/durations.ts";
import type { Bill, Charge, World } from "../worlds/world.ts";
import type { Policy } from "./policy.ts";
import { createHourCountsPolicy } from "./rule-policies.ts";
import { runTrial } from "./run-trial.ts";
import { even, fixed, ladder } from "./scheduled-policies.ts";
import { computeFigures } from "./trial-figures.ts";

const START = Date.UTC(2026, 0, 5, 10);

/** Creates a world of one invoice of 100 dollars that is approved from that day on. Each decline carries `advice`. */
function createOneInvoiceWorld(paysFrom: number, advice?: string): World {
  const answer = (at: Date): Charge => ({
    at,
    approved: +at >= START + paysFrom * DAY_MS,
    paymentMethodType: "card",
    cardBrand: "mastercard",
    networkDeclineCode: "51",
    ...(advice !== undefined && { networkAdviceCode: advice }),
  });
  const createdAt = new Date(START);
  const bill: Bill = {
    id: "b",
    customerId: "c",
    subscriptionId: "s",
    merchantKey: "m",
    planId: "p",
    amount: 10_000,
    currency: "USD",
    billingPeriod: 1,
    billingPeriodUnit: "MONTH",
    subscriptionCreatedAt: createdAt,
    createdAt,
    windowDays: 28,
    first: answer(createdAt),
  };
  return { name: "one bill", bills: () => [bill], charge: (_, at) => answer(at), approval: () => 0 };
}

/** Returns on which days after the failure a policy retries. */
const daysOf = (policy: Policy, world: World) =>
  runTrial(world, policy, 1, 1).retries.map(({ charge }) => (+charge.at - START) / DAY_MS);

test("each schedule retries on its named days, and six evenly spaced retries end an hour before the window does", () => {
  const never = createOneInvoiceWorld(99);
  assert.deepEqual(daysOf(fixed(), never), [1, 3, 5, 7]);
  assert.deepEqual(daysOf(ladder(), never), [1, 3, 8, 10, 12]);
  const days = daysOf(even(), never).map((day) => day.toFixed(2));
  assert.deepEqual(days, ["4.67", "9.33", "14.00", "18.67", "23.33", "27.96"]);
});

test("value is recovered money minus 0.4% per day, and minus USD 0.12 and 0.3% per retry", () => {
  const { recovered, value, attempts } = computeFigures(runTrial(createOneInvoiceWorld(3), fixed(), 1, 1));
  assert.deepEqual([recovered, attempts], [1, 2]);
  assert.ok(Math.abs(value - (1 - 3 * 0.004 - 2 * (0.0012 + 0.003))) < 1e-9, `${value}`);
  assert.equal(computeFigures(runTrial(createOneInvoiceWorld(99), fixed(), 1, 1)).value.toFixed(4), "-0.0168");
});

test("the hour-counts policy waits as long as a bank advises, and does not give up", () => {
  const [first] = daysOf(createHourCountsPolicy(), createOneInvoiceWorld(99, "28"));
  assert.ok(first! >= 6 && first! <= 7, `day ${first}`);
  assert.ok(daysOf(createHourCountsPolicy(), createOneInvoiceWorld(99))[0]! <= 1);
});
