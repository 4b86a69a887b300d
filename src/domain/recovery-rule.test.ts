import assert from "node:assert/strict";
import { test } from "node:test";
import { findDecidingRule, type RuleConditions, type RuleFacts } from "./recovery-rule.ts";

const FACTS: RuleFacts = {
  ...{ planId: "annual", businessEntity: "Ltd", cardCountry: "FR", currency: "EUR", amount: 5000, customerId: "cus_1" },
};
const fits = (conditions: RuleConditions, facts: Partial<RuleFacts> = {}) =>
  findDecidingRule([{ conditions }], { ...FACTS, ...facts }) !== null;

test("a rule without conditions fits every invoice", () => {
  assert.ok(fits({}));
});

test("each condition fits by its own fact, and an unknown fact fits no condition", () => {
  const conditions = [
    ["planIds", "planId", "annual"],
    ["businessEntities", "businessEntity", "Ltd"],
    ["cardCountries", "cardCountry", "FR"],
    ["currencies", "currency", "EUR"],
    ["customerIds", "customerId", "cus_1"],
  ] as const;
  for (const [condition, fact, value] of conditions) {
    assert.ok(fits({ [condition]: ["other", value] }), condition);
    assert.ok(!fits({ [condition]: ["other"] }), condition);
    assert.ok(!fits({ [condition]: [value] }, { [fact]: null }), condition);
  }
});

test("both ends of a range of amounts belong to it", () => {
  for (const [amount, isInside] of [
    [4999, false],
    [5000, true],
    [7000, true],
    [7001, false],
  ] as const)
    assert.equal(fits({ currencies: ["EUR"], amountFrom: 5000, amountTo: 7000 }, { amount }), isInside, `${amount}`);
  assert.ok(fits({ amountFrom: 0 }, { amount: 0 }));
});

test("all conditions must hold", () => {
  assert.ok(fits({ planIds: ["annual"], cardCountries: ["FR"] }));
  assert.ok(!fits({ planIds: ["annual"], cardCountries: ["DE"] }));
});

test("the first rule that fits decides", () => {
  const rules = [
    { conditions: { cardCountries: ["DE"] }, name: "Germany" },
    { conditions: { currencies: ["EUR"] }, name: "euro" },
    { conditions: { cardCountries: ["FR"] }, name: "France" },
  ];
  assert.equal(findDecidingRule(rules, FACTS)?.name, "euro");
  assert.equal(findDecidingRule(rules.toReversed(), FACTS)?.name, "France");
  assert.equal(findDecidingRule(rules.slice(0, 1), FACTS), null);
});
