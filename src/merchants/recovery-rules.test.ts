import assert from "node:assert/strict";
import { after, beforeEach, suite, test } from "node:test";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { DAY, openStage, START } from "../recovery/stage.fixture.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { listRecoveryRules, totalsByRule } from "../tables/recovery-rules.ts";
import { eraseCustomer } from "./erase-customer.ts";
import { changeRecoveryRules } from "./recovery-rules.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter(true, { engine: "static" })).id;
});

const names = async (id = merchantId) => (await listRecoveryRules(stage.db, id)).map(({ name }) => name);
const auditEntries = () => listAuditEntries(stage.db, merchantId, { noun: "rules" }, 10);

suite("a change of the rules", () => {
  test("replaces the list, keeps the ids and the order, and numbers from one", async () => {
    const [a, b] = (await stage.setRules({ name: "a" }, { name: "b", windowDays: 3 }))!;
    const changed = await stage.setRules({ name: "c" }, { id: b!.id, name: "b" }, { id: a!.id, name: "a" });
    const stored = await listRecoveryRules(stage.db, merchantId);
    assert.deepEqual(stored, changed);
    assert.deepEqual(
      stored.map(({ number, name, id, windowDays }) => [number, name, id === a!.id, windowDays]),
      [
        [1, "c", false, null],
        [2, "b", false, null],
        [3, "a", true, null],
      ],
    );
    await stage.setRules({ name: "d" });
    assert.deepEqual(await names(), ["d"]);
  });

  test("is logged with the rules before and after, and names a customer by a hash", async () => {
    await stage.setRules({ name: "one", cardCountries: ["FR"], windowDays: 14, quietWeekdays: ["SUNDAY"] });
    await stage.setRules({ name: "two", customerIds: ["cus_secret"], leaveOut: true });
    const [last, first] = await auditEntries();
    const before = "1. one: card country FR → 14 days, no retries on Sundays";
    assert.deepEqual(first!.details, { before: "no rules", after: before });
    assert.equal(last!.operation, "rules.changed");
    assert.equal(last!.details.before, before);
    assert.match(`${last!.details.after}`, /^1\. two: customer sha256:[0-9a-f]{12} → left to your own system$/);
  });

  test("to the same list writes nothing", async () => {
    const [{ number: _, ...rule }] = (await stage.setRules({
      name: "a",
      cardCountries: ["FR"],
      quietDates: ["12-25"],
    }))! as never as [{ number: number }];
    await changeRecoveryRules(stage.db, merchantId, [rule as never], COMMAND_LINE_ACTOR, stage.ports);
    assert.equal((await auditEntries()).length, 1);
  });

  test("leaves the rules of another merchant alone, also one with the same id", async () => {
    const first = merchantId;
    const [rule] = (await stage.setRules({ name: "first" }))!;
    merchantId = (await stage.enter()).id;
    await stage.setRules({ id: rule!.id, name: "second" });
    assert.deepEqual([await names(first), await names()], [["first"], ["second"]]);
    await stage.setRules();
    assert.deepEqual([await names(first), await names()], [["first"], []]);
  });

  test("for an unknown merchant returns null", async () => {
    const nobody = "01900000-0000-7000-8000-00000000dead";
    assert.equal(await changeRecoveryRules(stage.db, nobody, [], COMMAND_LINE_ACTOR, stage.ports), null);
  });
});

suite("a test of rules", () => {
  const openCases = async () => {
    await stage.subscription("ACTIVE", { planId: "annual" });
    await stage.invoice({ subscriptionId: "sub_1" });
    await stage.invoice({ id: "inv_2", customerId: "cus_2", amount: 700, currency: "USD" });
    await stage.invoice({ id: "inv_3", customerId: "cus_3", amount: 300 });
    await stage.transaction({ invoiceId: "inv_3", customerId: "cus_3", cardCountry: "FR" });
    await stage.invoice({ id: "inv_4", customerId: "cus_4", amount: 50, currency: "USD" });
    await stage.invoice({ id: "inv_5", customerId: "cus_4", state: "PAID" });
    await stage.decide();
  };
  const RULES = [
    { name: "annual", planIds: ["annual"], leaveOut: true },
    { name: "France", cardCountries: ["FR"], quietFromHour: 20, quietToHour: 6 },
    { name: "dollars", currencies: ["USD"], amountFrom: 100, budget: 2 },
  ];

  test("counts open cases, money by currency, and plans that change", async () => {
    await openCases();
    assert.deepEqual(await stage.testRules(...RULES), {
      ...{ openCases: 4, planChanges: 2, notes: [] },
      rules: [
        { name: "annual", openCases: 1, amounts: { EUR: 4900 } },
        { name: "France", openCases: 1, amounts: { EUR: 300 } },
        { name: "dollars", openCases: 1, amounts: { USD: 700 } },
      ],
      others: { openCases: 1, amounts: { USD: 50 } },
    });
  });

  test("agrees with the change itself, and finds nothing to change after it", async () => {
    await openCases();
    await stage.setRules(...RULES);
    await stage.decide();
    const totals = await totalsByRule(stage.db, merchantId);
    const rules = await listRecoveryRules(stage.db, merchantId);
    assert.deepEqual(
      totals.map(({ ruleId, ...total }) => [rules.find(({ id }) => id === ruleId)?.name ?? null, total]).sort(),
      [
        [null, { currency: "USD", cases: 1, amount: 50 }],
        ["France", { currency: "EUR", cases: 1, amount: 300 }],
        ["dollars", { currency: "USD", cases: 1, amount: 700 }],
      ].sort(),
    );
    const [annual, ...others] = RULES.map((rule, index) => ({ ...rule, id: rules[index]!.id }));
    assert.equal((await stage.testRules(annual!, ...others)).planChanges, 0);
    assert.equal((await stage.testRules()).planChanges, 1);
  });

  test("counts a planned retry on the customer's clock", async () => {
    await stage.invoice();
    await stage.transaction({ customerTimezone: "America/New_York" });
    await stage.decide();
    const hour = (await stage.actions()).at(-1)!.ideal.getUTCHours();
    const local = (hour + 24 - 5) % 24;
    const changes = async (from: number) =>
      (await stage.testRules({ quietFromHour: from, quietToHour: (from + 1) % 24 })).planChanges;
    assert.deepEqual([await changes(local), await changes(hour)], [1, 0]);
  });

  test("reads every page, and writes nothing", async () => {
    for (let n = 0; n < 501; n++) await stage.invoice({ id: `inv_${n}`, customerId: `cus_${n}`, amount: 1 });
    const result = await stage.testRules({ name: "all", windowDays: 3 });
    assert.deepEqual(result, {
      ...{ openCases: 501, planChanges: 501, notes: [], others: { openCases: 0, amounts: {} } },
      rules: [{ name: "all", openCases: 501, amounts: { EUR: 501 } }],
    });
    assert.deepEqual(await names(), []);
    assert.deepEqual(
      (await totalsByRule(stage.db, merchantId)).map(({ ruleId }) => ruleId),
      [null],
    );
    stage.at(+START + 27 * DAY);
  });
});

test("an erased customer is removed from the rules, and a rule for that customer alone is deleted", async () => {
  await stage.setRules(
    { name: "alone", customerIds: ["cus_1"], leaveOut: true },
    { name: "both", customerIds: ["cus_1", "cus_2"] },
    { name: "other", customerIds: ["cus_2"] },
    { name: "none" },
  );
  const erasure = { owner: stage.db, ports: stage.ports, actor: COMMAND_LINE_ACTOR, async onWithdrawn() {} };
  await eraseCustomer(erasure, merchantId, "cus_1");
  assert.deepEqual(
    (await listRecoveryRules(stage.db, merchantId)).map(({ number, name, conditions }) => [
      number,
      name,
      conditions.customerIds,
    ]),
    [
      [1, "both", ["cus_2"]],
      [2, "other", ["cus_2"]],
      [3, "none", undefined],
    ],
  );
});
