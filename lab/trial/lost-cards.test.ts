import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../src/domain/durations.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import type { Bill, Charge, World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { readPretrainedModel } from "./open-world.ts";
import { runTrial } from "./run-trial.ts";

const START = Date.UTC(2026, 0, 5, 9);

/** Each card is reported lost once and works again three days later, because the bank has replaced it. */
function createLostCardsWorld(cardBrand: string): World {
  const chargeOf = (customerId: string, at: Date, approved: boolean): Charge => ({
    at,
    approved,
    paymentMethodType: "card",
    cardBrand,
    cardFunding: "debit",
    cardCountry: "US",
    cardFingerprint: customerId,
    ...(approved ? {} : { networkDeclineCode: "41" }),
  });
  const billOf = (n: number): Bill => {
    const createdAt = new Date(START + n * (DAY_MS / 4));
    return {
      id: `bill_${n}`,
      customerId: `cus_${n}`,
      subscriptionId: `sub_${n}`,
      merchantKey: "m",
      amount: 4000,
      currency: "usd",
      planId: "plan",
      billingPeriod: 1,
      billingPeriodUnit: "MONTH",
      subscriptionCreatedAt: new Date(START - 200 * DAY_MS),
      createdAt,
      windowDays: 28,
      first: chargeOf(`cus_${n}`, createdAt, false),
    };
  };
  const isApproved = ({ createdAt }: Bill, at: Date) => at.getTime() > createdAt.getTime() + 3 * DAY_MS;
  return {
    name: "lost cards",
    *bills(_seed, customers) {
      for (let n = 0; n < customers; n++) yield billOf(n);
    },
    charge: (bill, at) => chargeOf(bill.customerId, at, isApproved(bill, at)),
    approval: (bill, at) => Number(isApproved(bill, at)),
  };
}

test("the engine learns that banks replace lost cards, and does not retry them when a rule forbids it", () => {
  const recoveredOf = (brand: string, customers: number) => {
    const { retries } = runTrial(
      createLostCardsWorld(brand),
      createDunlinPolicy(fromPretrained(readPretrainedModel())),
      1,
      customers,
    );
    const paid = retries.filter(({ charge }) => charge.approved).map(({ open }) => Number(open.bill.id.slice(5)));
    return { tries: retries.length, late: paid.filter((n) => n >= 200).length / 400 };
  };
  const { late } = recoveredOf("mastercard", 600);
  assert.ok(late > 0.9, `${late} of the last four hundred`);
  assert.equal(recoveredOf("visa", 200).tries, 0);
});
