import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";
import { prepared } from "../postgres/database.ts";
import { DAY, HOUR, openStage, START } from "./stage.fixture.ts";
import { at, buildAttempt, stepAt } from "./step.fixture.ts";

const CASE_RULES = prepared(
  "test_case_rules",
  `select invoice_id as invoice, extract(epoch from window_ends_at - unpaid_at)::int / 86400 as days, budget,
     rule_id as "ruleId", end_reason as "end", outcome
   from cases where merchant_id = $1 order by invoice_id`,
);
interface CaseRow {
  invoice: string;
  days: number;
  budget: number;
  ruleId: string | null;
  end: string | null;
  outcome: string;
}

let stage: Awaited<ReturnType<typeof openStage>>;
let merchantId: string;

before(async () => {
  stage = await openStage();
});
beforeEach(async () => {
  merchantId = (await stage.enter(true, { engine: "static" })).id;
});
after(() => stage.drop());

const cases = async () => (await stage.db.run<CaseRow>(CASE_RULES, [merchantId])).rows;
const outcomes = async () => (await cases()).map(({ days, budget, end }) => [days, budget, end]);
const eventTypes = async () => (await stage.events()).map(({ type }) => type);
const planOf = async () => (await stage.actions()).find(({ status }) => status === "SCHEDULED") ?? null;

suite("a case that opens", () => {
  test("has the window and the budget of the first rule that fits, and the settings for what the rule leaves open", async () => {
    const rules = await stage.setRules(
      { customerIds: ["cus_9"], windowDays: 3 },
      { currencies: ["EUR"], windowDays: 40 },
      { currencies: ["EUR"], windowDays: 5, budget: 1 },
      { currencies: ["USD"], budget: 2 },
    );
    await stage.invoice();
    await stage.invoice({ id: "inv_2", customerId: "cus_2", currency: "USD" });
    await stage.invoice({ id: "inv_3", customerId: "cus_3", currency: "GBP" });
    const opened = await cases();
    assert.deepEqual(
      opened.map(({ days, budget, ruleId }) => [days, budget, ruleId]),
      [
        [40, 8, rules![1]!.id],
        [28, 2, rules![3]!.id],
        [28, 8, null],
      ],
    );
    await stage.decide();
    assert.deepEqual(await cases(), opened);
  });

  test("follows conditions about the plan, the entity, the amount and the card country", async () => {
    await stage.setRules(
      { planIds: ["annual"], windowDays: 10 },
      { businessEntities: ["Ltd"], windowDays: 11 },
      { currencies: ["EUR"], amountFrom: 10_000, windowDays: 12 },
      { cardCountries: ["FR"], windowDays: 13 },
    );
    await stage.subscription("ACTIVE", { planId: "annual" });
    await stage.transaction({ invoiceId: "inv_4", cardCountry: "FR" });
    await stage.invoice({ subscriptionId: "sub_1" });
    await stage.invoice({ id: "inv_2", customerId: "cus_2", businessEntity: "Ltd" });
    await stage.invoice({ id: "inv_3", customerId: "cus_3", amount: 10_000 });
    await stage.invoice({ id: "inv_4" });
    await stage.invoice({ id: "inv_5", customerId: "cus_5" });
    const days = [10, 11, 12, 13, 28];
    assert.deepEqual(
      (await cases()).map((each) => each.days),
      days,
    );
    await stage.decide();
    assert.deepEqual(
      (await cases()).map((each) => each.days),
      days,
    );
  });

  test("opens in the window of the rule, longer or shorter than the setting", async () => {
    await stage.setRules({ currencies: ["EUR"], windowDays: 60 }, { currencies: ["USD"], windowDays: 5 });
    stage.wait(40 * DAY);
    await stage.invoice({ createdAt: START, updatedAt: START });
    await stage.invoice({ id: "inv_2", currency: "USD", createdAt: START, updatedAt: new Date(+START + 30 * DAY) });
    assert.deepEqual(
      (await cases()).map(({ invoice, days }) => [invoice, days]),
      [["inv_1", 60]],
    );
  });

  test("ends at its first step without an event if a rule leaves it out, and counts as no loss", async () => {
    await stage.set({ sendsRecoveryEnded: true });
    await stage.setRules({ leaveOut: true });
    await stage.invoice();
    await stage.decide();
    await stage.transaction();
    await stage.decide();
    assert.deepEqual(
      (await cases()).map(({ end, outcome }) => [end, outcome]),
      [["left_out", "stopped"]],
    );
    assert.deepEqual(await stage.events(), []);
    assert.deepEqual(await stage.actions(), []);
    await stage.invoice({ amount: 5000 });
    await stage.decide();
    assert.equal((await cases()).length, 1);
  });

  test("stays without a rule of another merchant", async () => {
    await stage.setRules({ leaveOut: true });
    merchantId = (await stage.enter()).id;
    await stage.invoice();
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 8, null]]);
    assert.equal((await stage.testRules({ windowDays: 3 })).openCases, 1);
  });
});

suite("an open case", () => {
  test("follows changed rules, and returns to the settings when no rule fits any more", async () => {
    await stage.invoice();
    await stage.decide();
    const [rule] = (await stage.setRules({ windowDays: 14, budget: 3 }))!;
    await stage.decide();
    assert.deepEqual(await outcomes(), [[14, 3, null]]);
    await stage.setRules({ id: rule!.id, windowDays: 21 });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[21, 8, null]]);
    await stage.setRules();
    await stage.decide();
    assert.deepEqual(
      (await cases()).map(({ days, budget, ruleId }) => [days, budget, ruleId]),
      [[28, 8, null]],
    );
  });

  test("keeps the window and the budget of its opening under a rule about quiet times alone", async () => {
    await stage.invoice();
    await stage.decide();
    await stage.set({ windowDays: 50, budget: 2 });
    await stage.setRules({ quietWeekdays: ["SUNDAY"] });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 8, null]]);
    await stage.setRules();
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 8, null]]);
  });

  test("counts the retries that were requested before toward a smaller budget", async () => {
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    await stage.untilSent();
    await stage.transaction();
    await stage.decide();
    await stage.setRules({ budget: 2 });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 2, null]]);
    await stage.setRules({ budget: 1 });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 1, "budget_used"]]);
  });

  test("ends when a shorter window is over", async () => {
    await stage.invoice();
    await stage.decide();
    stage.wait(10 * DAY);
    await stage.setRules({ windowDays: 7 });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[7, 8, "window_over"]]);
  });

  test("ends as left out: its retry is canceled, its event withdrawn, and the merchant is told", async () => {
    await stage.set({ sendsRecoveryEnded: true });
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    await stage.deliver();
    await stage.untilDecided();
    await stage.setRules({ leaveOut: true });
    await stage.decide();
    assert.deepEqual(
      (await cases()).map(({ end, outcome }) => [end, outcome]),
      [["left_out", "stopped"]],
    );
    const events = await stage.events();
    assert.deepEqual(
      events.map(({ type, withdrawn }) => [type, withdrawn]),
      [
        ["pause_collection", false],
        ["recovery_action", true],
        ["recovery_ended", false],
        ["complete_dunning", false],
      ],
    );
    assert.deepEqual(
      (await stage.actions()).map(({ status }) => status),
      ["CANCELED"],
    );
    assert.match(events.find(({ type }) => type === "recovery_ended")!.body, /"endReason":"END_REASON_LEFT_OUT"/);
  });

  test("follows a rule about the card country from the attempt on that names it", async () => {
    await stage.setRules({ cardCountries: ["FR"], leaveOut: true });
    await stage.invoice();
    await stage.decide();
    assert.deepEqual(await eventTypes(), ["pause_collection"]);
    await stage.transaction({ cardCountry: "FR" });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 8, "left_out"]]);
    assert.deepEqual(await eventTypes(), ["pause_collection", "complete_dunning"]);
  });

  test("keeps its plan if the rule that fits says nothing new", async () => {
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    const plan = await planOf();
    await stage.setRules({ currencies: ["EUR"] });
    await stage.decide();
    assert.deepEqual(await planOf(), plan);
  });

  test("plans no retry in a quiet time, and names the rule", async () => {
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    const date = (await planOf())!.ideal.toISOString().slice(0, 10);
    const rules = [{ name: "Germany", cardCountries: ["DE"], quietDates: [date] }];
    assert.equal((await stage.testRules(...rules)).planChanges, 1);
    await stage.setRules(...rules);
    await stage.decide();
    const plan = (await planOf())!;
    assert.notEqual(plan.ideal.toISOString().slice(0, 10), date);
    assert.equal((await stage.testRules(...rules)).planChanges, 0);
    const { rows } = await stage.db.run<{ reasons: string[] }>(
      prepared("test_reasons", "select reasons from recovery_actions where id = $1"),
      [plan.id],
    );
    assert.match(rows[0]!.reasons.join(" "), /Your rule 1, “Germany”, allows no retries on \d+ March 2026\./);
  });

  test("of the learned policy gives up a kept plan that a new quiet time forbids", async () => {
    await stage.set({ engine: "learned" });
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    const { ideal } = (await planOf())!;
    await stage.setRules({ windowDays: 28, budget: 8 });
    await stage.decide();
    assert.deepEqual((await planOf())!.ideal, ideal);
    const date = ideal.toISOString().slice(0, 10);
    await stage.setRules({ windowDays: 28, budget: 8, quietDates: [date] });
    await stage.decide();
    assert.notEqual((await planOf())!.ideal.toISOString().slice(0, 10), date);
  });

  test("requests a retry by the lead of the rule", async () => {
    await stage.setRules({ leadMinutes: 600 });
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    const { ideal } = (await planOf())!;
    stage.at(+ideal - 11 * HOUR);
    await stage.decide();
    assert.ok(!(await eventTypes()).includes("recovery_action"));
    stage.at(+ideal - 10 * HOUR);
    await stage.decide();
    assert.ok((await eventTypes()).includes("recovery_action"));
  });

  test("is not retried at once in a quiet time, and the message names the rule", async () => {
    await stage.setRules({ name: "workdays", quietWeekdays: ["SATURDAY", "SUNDAY"] });
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    stage.at(new Date("2026-03-07T10:00:00Z"));
    const refusal = await stage.retryNow();
    assert.match(
      `${refusal}`,
      /^No retry was requested\. .*Your rule 1, “workdays”, allows no retries on Saturdays\.$/,
    );
    stage.at(new Date("2026-03-09T10:00:00Z"));
    assert.equal(typeof (await stage.retryNow()), "object");
  });

  test("follows the rule in shadow mode, without events", async () => {
    await stage.set({ shadow: true });
    await stage.invoice();
    await stage.decide();
    await stage.setRules({ windowDays: 9 });
    await stage.decide();
    assert.deepEqual(await outcomes(), [[9, 8, null]]);
    await stage.setRules({ leaveOut: true });
    await stage.decide();
    assert.deepEqual(
      (await cases()).map(({ end, outcome }) => [end, outcome]),
      [["left_out", "watched"]],
    );
    assert.deepEqual(await stage.events(), []);
  });

  test("stays as it is after its end", async () => {
    await stage.invoice();
    await stage.decide();
    await stage.invoice({ state: "PAID" });
    await stage.decide();
    await stage.setRules({ windowDays: 3, budget: 1 });
    await stage.transaction();
    await stage.decide();
    assert.deepEqual(await outcomes(), [[28, 8, "paid"]]);
  });
});

test("without quiet times, a decision has the fingerprint of earlier versions, so that plans survive an upgrade", () => {
  const failed = { transactions: [buildAttempt({ createdAt: at(0), updatedAt: at(0) })] };
  const rule = {
    ...{ id: "rule_1", number: 1, name: "a", conditions: {}, leaveOut: false },
    ...{ windowDays: null, budget: null, leadMs: null, quiet: null },
  };
  for (const given of [failed, { ...failed, rule }])
    assert.equal(stepAt(0, given).decision!.facts, "94c466bff57ef9003cde");
  assert.equal(stepAt(0).decision!.facts, "9b9bde6439cfa0d1e8a5");
  const quiet = { weekdays: [], dates: ["07-14"], hours: null };
  assert.notEqual(stepAt(0, { ...failed, rule: { ...rule, quiet } }).decision!.facts, "94c466bff57ef9003cde");
});
