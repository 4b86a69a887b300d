import assert from "node:assert/strict";
import { test } from "node:test";
import type { Belief } from "../model/belief.ts";
import { newPerson } from "../model/belief.ts";
import { learnOutcome } from "../model/learn.ts";
import { newLearned } from "../model/learned.ts";
import { chanceOf } from "../model/observe.ts";
import { caseNames, nameWeights, newPast, type Traits } from "./case-names.ts";
import { belief, DAY, START } from "./choose-try.fixture.ts";

const traits: Traits = {
  dollars: 20,
  tenureDays: null,
  billingPeriod: null,
  billingPeriodUnit: null,
  merchant: "m",
  country: "EUR",
  paymentMethodType: null,
  network: null,
  funding: null,
  issuer: null,
  declineCode: null,
  adviceCode: null,
  past: newPast(),
};

test("names hold what is known, and a question mark for what is not", () => {
  const names = caseNames("r", traits);
  assert.ok(names.includes("rtenure:?") && names.includes("rcode:?:?") && names.includes("rissuer:?"));
  assert.ok(names.every((name) => !/null|undefined|NaN/.test(name)));
  assert.equal(new Set(nameWeights(names)).size, names.length);
  assert.ok(!caseNames("f", traits).some((name) => name.startsWith("fcode")));
});

test("what is learned of an amount says something of the next, and little of those far below", () => {
  const learned = newLearned();
  const of = (dollars: number): Belief => ({
    ...belief("FUNDS"),
    names: nameWeights(caseNames("r", { ...traits, dollars })),
  });
  const chances = () => [4, 30, 400].map((dollars) => chanceOf(learned, of(dollars), START + 3 * DAY));
  // Small bills are paid as often as not, larger ones never; of the largest none was seen.
  for (let n = 0; n < 60; n++)
    for (const [dollars, reason] of [
      [4, n % 2 === 0 ? "FUNDS" : null],
      [130, "FUNDS"],
    ] as const)
      learnOutcome(learned, newPerson(learned, "DE"), of(dollars), START + 3 * DAY, reason);
  const [small, middle, large] = chances();
  assert.ok(large! < middle! && middle! < small! - 0.05, `${small}, ${middle}, ${large}`);
});
