import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { parseRecoveryRules, RULE_FIELDS, type RuleJson } from "./parse-recovery-rules.ts";

const ID = "01900000-0000-7000-8000-000000000001";
const FULL: RuleJson = {
  ...{
    id: ID,
    name: "France",
    planIds: ["annual"],
    businessEntities: ["Ltd"],
    cardCountries: ["FR"],
    customerIds: ["c"],
  },
  ...{ currencies: ["EUR"], amountFrom: 100, amountTo: 200, windowDays: 35, budget: 6, leadMinutes: 30 },
  ...{ quietWeekdays: ["SUNDAY"], quietDates: ["12-24..01-01"], quietFromHour: 22, quietToHour: 7 },
};
const problemOf = (rule: unknown, ...before: unknown[]) => {
  const problem = parseRecoveryRules([...before, rule]);
  return Array.isArray(problem) ? null : `${problem.field} ${problem.rule}`;
};
const named = (rule: RuleJson) => ({ name: "a", ...rule });

test("every field of a rule is read", () => {
  assert.deepEqual(parseRecoveryRules([FULL]), [
    {
      id: ID,
      name: "France",
      conditions: {
        ...{ planIds: ["annual"], businessEntities: ["Ltd"], cardCountries: ["FR"], customerIds: ["c"] },
        ...{ currencies: ["EUR"], amountFrom: 100, amountTo: 200 },
      },
      leaveOut: false,
      ...{ windowDays: 35, budget: 6, leadMs: 1_800_000 },
      quiet: { weekdays: ["SUNDAY"], dates: ["12-24..01-01"], hours: { from: 22, to: 7 } },
    },
  ]);
  assert.deepEqual(new Set([...Object.keys(FULL), "leaveOut"]), new Set(RULE_FIELDS));
});

test("null and empty fields are absent, and repeated values count once", () => {
  const rule = { name: "a", planIds: null, windowDays: "", quietFromHour: null, currencies: ["EUR", "EUR"] };
  assert.deepEqual(parseRecoveryRules([rule]), [
    {
      ...{ id: undefined, name: "a", conditions: { currencies: ["EUR"] }, leaveOut: false },
      ...{ windowDays: null, budget: null, leadMs: null, quiet: null },
    },
  ]);
});

suite("a problem names the rule and the field", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [5, "rules[0] must be a JSON object"],
    [{}, "rules[0].name is required"],
    [named({ name: "a\nb" }), "rules[0].name must be a string of 1 to 100 characters, without control characters"],
    [named({ name: " " }), "rules[0].name must be a string of 1 to 100 characters, without control characters"],
    [named({ name: "4111 1111 1111 1111" }), "rules[0].name must not hold a card number"],
    [
      { name: "a", windowdays: 5 },
      `rules[0].windowdays is not a field of a rule; the fields are ${RULE_FIELDS.join(", ")}`,
    ],
    [{ name: "a", "4111111111111111": 5 }, `rules[0] has an unknown field; the fields are ${RULE_FIELDS.join(", ")}`],
    [named({ id: "x" }), "rules[0].id must be a UUID in lower case, or absent for a new rule"],
    [named({ planIds: [] }), "rules[0].planIds must be a list of 1 to 500 values, or absent"],
    [named({ planIds: "annual" }), "rules[0].planIds must be a list of 1 to 500 values, or absent"],
    [
      named({ cardCountries: ["FR", "fr"] }),
      "rules[0].cardCountries[1] must be two capital letters (ISO 3166 alpha-2)",
    ],
    [named({ currencies: ["euro"] }), "rules[0].currencies[0] must be three capital letters"],
    [named({ windowDays: 0 }), "rules[0].windowDays must be an integer from 1 to 365"],
    [named({ windowDays: "14" }), "rules[0].windowDays must be an integer from 1 to 365"],
    [named({ budget: 101 }), "rules[0].budget must be an integer from 0 to 100"],
    [named({ leadMinutes: 1.5 }), "rules[0].leadMinutes must be an integer from 0 to 1440"],
    [named({ leaveOut: "yes" }), "rules[0].leaveOut must be true or false"],
    [named({ leaveOut: true, budget: 2 }), "rules[0].budget must be absent, because leaveOut is true"],
    [named({ quietWeekdays: ["SUN"] }), /^rules\[0\]\.quietWeekdays\[0\] must be one of SUNDAY, /],
    [named({ quietFromHour: 22 }), "rules[0].quietToHour is required with the other hour"],
    [named({ quietFromHour: 0, quietToHour: 21 }), /^rules\[0\]\.quietToHour must be 1 to 20 hours after /],
    [named({ quietFromHour: 5, quietToHour: 5 }), /^rules\[0\]\.quietToHour must be 1 to 20 hours after /],
  ] as never;
  for (const [rule, expected] of cases)
    test(`${JSON.stringify(rule)}`, () => {
      const problem = problemOf(rule)!;
      if ((expected as unknown) instanceof RegExp) assert.match(problem, expected as unknown as RegExp);
      else assert.equal(problem, expected);
    });

  test("of an amount without exactly one currency", () => {
    const expected = "rules[0].currencies must name exactly one currency, because the rule is about an amount";
    for (const currencies of [undefined, ["EUR", "USD"]])
      assert.equal(problemOf(named({ amountFrom: 5, currencies })), expected);
    assert.equal(
      problemOf(named({ amountFrom: 5, amountTo: 4, currencies: ["EUR"] })),
      "rules[0].amountTo must not be less than amountFrom",
    );
  });

  test("of dates that do not exist or are in the wrong order", () => {
    for (const date of [
      "02-30",
      "13-01",
      "2026-02-29",
      "1-1",
      "2026-12-24..01-01",
      "2026-12-24..2026-12-23",
      "12-24..",
      "Sun",
    ])
      assert.match(problemOf(named({ quietDates: [date] }))!, /^rules\[0\]\.quietDates\[0\] must be a date or /, date);
    for (const date of ["02-29", "12-24..01-01", "2028-02-29", "2026-12-24..2027-01-01"])
      assert.equal(problemOf(named({ quietDates: [date] })), null, date);
  });

  test("of dates that leave no day of a year", () => {
    const expected = "rules[0].quietDates must leave days of each year for retries";
    for (const quietDates of [
      ["01-01..12-31"],
      ["06-01..05-31"],
      ["01-01..06-30", "07-01..12-31"],
      ["01-01..02-28", "03-01..12-31"],
      ["2027-01-01..2027-12-31"],
      ["2027-07-01..2027-12-31", "2026-06-01..2027-06-30", "2027-02-01"],
      ["2026-06-01..9999-12-31"],
    ])
      assert.equal(problemOf(named({ quietDates })), expected, `${quietDates}`);
    for (const quietDates of [
      ["01-01..12-30"],
      ["2026-06-01..2027-12-30"],
      ["2027-01-01..2027-06-30", "2027-07-02..2027-12-31"],
    ])
      assert.equal(problemOf(named({ quietDates })), null, `${quietDates}`);
  });

  test("of the later rule with the same name", () => {
    const expected = "rules[1].name must differ from the names of the other rules";
    assert.equal(problemOf(named({ name: "France " }), named({ name: "france" })), expected);
  });

  test("of the later rule with the same id", () => {
    assert.equal(problemOf(FULL, named({}), FULL), "rules[2].id must differ from the ids of the other rules");
  });

  test("of a list that is none, or too long", () => {
    assert.deepEqual(parseRecoveryRules({}), { field: "rules", rule: "must be a list of rules" });
    const many = Array.from({ length: 101 }, () => named({}));
    assert.deepEqual(parseRecoveryRules(many), { field: "rules", rule: "must hold at most 100 rules" });
    assert.equal(
      problemOf(named({ quietWeekdays: [..."SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY".split(" ")] })),
      "rules[0].quietWeekdays must leave one weekday for retries",
    );
  });
});
