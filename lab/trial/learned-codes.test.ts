import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { DAY_MS } from "../worlds/keyed-uniform.ts";
import type { Bill } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";

const AT = new Date(Date.UTC(2026, 0, 5));

/** Returns the feature names of a declined invoice in a trial. */
function featuresOf(networkDeclineCode: string, networkAdviceCode: string, paymentMethodType = "card"): string[] {
  const names: string[] = [];
  const policy = createDunlinPolicy(newLearnedModel(), { named: (name) => names.push(name) });
  const first = { at: AT, approved: false, paymentMethodType, networkDeclineCode, networkAdviceCode };
  const bill: Bill = {
    id: "bill",
    customerId: "cus",
    subscriptionId: "sub",
    merchantKey: "shop",
    amount: 1_900,
    currency: "EUR",
    planId: "month",
    billingPeriod: 1,
    billingPeriodUnit: "MONTH",
    subscriptionCreatedAt: AT,
    createdAt: AT,
    windowDays: 26,
    first,
  };
  policy.billed!(bill);
  const charges = [first];
  const open = { bill, charges, retriesLeft: 6, endsAt: +AT + 26 * DAY_MS, attempts: [{ bill, charge: first }] };
  policy.next({ ...open, byCard: new Map(), byCustomer: new Map() }, +AT);
  return names;
}

test("a trial learns a card's code under the service's name for it, and a debit's code as it came", () => {
  const bare = featuresOf("51", "02");
  assert.ok(bare.includes("rcode:51:02"));
  for (const [code, advice] of [
    ["051", "2"],
    [" 51", "002"],
    ["51 : Insufficient funds", "02 : Try again later"],
  ] as const)
    assert.deepEqual(featuresOf(code, advice), bare, code);
  assert.ok(featuresOf("01", "", "bacs_debit").includes("rcode:01:?"));
});
