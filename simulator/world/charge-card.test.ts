import assert from "node:assert/strict";
import { test } from "node:test";
import { type ChargeAnswer, chargeCard } from "./charge-card.ts";
import { type Customer, createCard, createCustomer, dueTimeMs } from "./customer.ts";
import { findDeclineCause } from "./decline-causes.ts";
import { DECLINES } from "./decline-reasons.ts";
import { DAY_MS, HOUR_MS } from "./keyed-random.ts";

const START = Date.parse("2026-03-02T08:00:00Z");
const firstCard = { generation: 0, sinceMs: START };
const createCustomers = (seed: number, size: number) =>
  Array.from({ length: size }, (_, n) => createCustomer(seed, n, START + (n % 30) * DAY_MS));
const firstCharge = (customer: Customer) => chargeCard(customer, firstCard, new Date(customer.firstBillAtMs));
const reasonOf = (answer: ChargeAnswer) => (answer.approved ? null : answer.reason);

test("the same seed gives the same customers, cards and answers in any order of calls", () => {
  const answers = (customers: Customer[]) =>
    customers.map((customer) => [customer, createCard(customer, 0), firstCharge(customer)]);
  const forwards = answers(createCustomers(7, 200));
  assert.deepEqual(answers(createCustomers(7, 200).toReversed()).toReversed(), forwards);
  assert.notDeepEqual(answers(createCustomers(8, 200)), forwards);
});

test("10% to 16% of first charges fail, most of them for missing funds or without a reason", () => {
  for (const seed of [1, 2, 3]) {
    const customers = createCustomers(seed, 2000);
    const reasons = customers.map((customer) => reasonOf(firstCharge(customer))).filter((reason) => reason !== null);
    const share = reasons.length / customers.length;
    assert.ok(share > 0.1 && share < 0.16, `${share}`);
    const codes = Map.groupBy(reasons, (reason) => DECLINES[reason].networkCode);
    const shareOf = (code: string) => (codes.get(code)?.length ?? 0) / reasons.length;
    assert.ok(shareOf("51") > 0.3 && shareOf("51") < 0.5, `51: ${shareOf("51")}`);
    assert.ok(shareOf("05") > 0.18 && shareOf("05") < 0.36, `05: ${shareOf("05")}`);
  }
});

test("only some Mastercard declines carry an advice code", () => {
  const declined = createCustomers(3, 4000).flatMap((customer) => {
    const answer = firstCharge(customer);
    return answer.approved ? [] : [{ brand: createCard(customer, 0)?.brand, advice: answer.adviceCode }];
  });
  const advised = declined.filter(({ advice }) => advice !== null);
  assert.ok(advised.every(({ brand }) => brand === "mastercard"));
  const mastercard = declined.filter(({ brand }) => brand === "mastercard");
  assert.ok(advised.length > mastercard.length * 0.3 && advised.length < mastercard.length * 0.8);
});

/** Returns the first answers of all customers who have trouble of this kind with their first invoice, `afterMs` later. */
function reasonLater(reason: string, afterMs: number) {
  return createCustomers(1, 12_000).flatMap((customer) => {
    const trouble = findDeclineCause(customer, 0);
    if (trouble?.reason !== reason) return [];
    return [chargeCard(customer, firstCard, new Date(customer.firstBillAtMs + afterMs))];
  });
}
const approvedShare = (answers: ChargeAnswer[]) => answers.filter(({ approved }) => approved).length / answers.length;

test("an issuer outage ends within a day", () => {
  assert.equal(approvedShare(reasonLater("issuer_down", 0)), 0);
  const afterThreeHours = approvedShare(reasonLater("issuer_down", 3 * HOUR_MS));
  assert.ok(afterThreeHours > 0.2 && afterThreeHours < 0.8, `${afterThreeHours}`);
  assert.ok(approvedShare(reasonLater("issuer_down", DAY_MS)) > 0.9);
});

test("money comes back with the paydays: rarely within a day, mostly within a month", () => {
  assert.ok(approvedShare(reasonLater("insufficient_funds", DAY_MS)) < 0.3);
  assert.ok(approvedShare(reasonLater("insufficient_funds", 30 * DAY_MS)) > 0.5);
});

test("a lost card stays declined until another card is on file", () => {
  const lost = createCustomers(5, 6000).filter((customer) => findDeclineCause(customer, 0)?.reason === "lost");
  assert.ok(lost.length > 3);
  for (const customer of lost) {
    const at = new Date(customer.firstBillAtMs + 20 * DAY_MS);
    assert.equal(chargeCard(customer, firstCard, at).approved, false);
    const replaced = { generation: 1, sinceMs: at.getTime() };
    assert.notEqual(reasonOf(chargeCard(customer, replaced, at)), "lost");
    assert.notEqual(createCard(customer, 1)?.fingerprint, createCard(customer, 0)?.fingerprint);
  }
});

test("a monthly invoice of the 31st is due on the last day of shorter months", () => {
  const customer = { ...createCustomer(1, 1, Date.parse("2026-01-31T10:00:00Z")) };
  customer.plan = { id: "m", amount: 1, period: "MONTH" };
  const due = [0, 1, 2, 3, 13].map((cycle) => new Date(dueTimeMs(customer, cycle)).toISOString().slice(0, 10));
  assert.deepEqual(due, ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2027-02-28"]);
});
