import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bill } from "../world.ts";
import { declineCodeShare, outageShares, predictionErrors, predictRetries } from "../world-retries.fixture.ts";
import { world } from "./world.ts";

const HOUR_MS = 3_600_000;
const bills = [...world().bills(3, 300)];
const declinedOf = (bills: readonly Bill[]) => bills.filter(({ first }) => !first.approved);
const assertWithin = (value: number, low: number, high: number) => assert.ok(value >= low && value <= high, `${value}`);

test("a seed yields one year of invoices, and another seed another year", () => {
  assert.deepEqual([...world().bills(8, 30)], [...world().bills(8, 30)]);
  assert.notDeepEqual([...world().bills(8, 30)], [...world().bills(9, 30)]);
  for (let n = 1; n < bills.length; n++) assert.ok(bills[n]!.createdAt >= bills[n - 1]!.createdAt);
});

test("10% to 15% of first charges are declined, half for limits and funds and a quarter by risk engines", () => {
  assertWithin(declinedOf(bills).length / bills.length, 0.1, 0.15);
  assertWithin(declineCodeShare(bills, "51", "61"), 0.42, 0.65);
  assertWithin(declineCodeShare(bills, "05", "59"), 0.2, 0.42);
  assertWithin(declineCodeShare(bills, "54", "14"), 0.05, 0.14);
  assertWithin(declineCodeShare(bills, "41", "43", "46", "R1"), 0.01, 0.06);
  assertWithin(declineCodeShare(bills, "91", "96"), 0.005, 0.06);
});

test("a charge reports its card, and Mastercard declines sometimes carry advice", () => {
  for (const { first } of bills) {
    assert.match(first.cardIssuer!, new RegExp(`^${first.cardCountry} `));
    assert.ok(first.cardBrand && first.cardFunding && first.cardFingerprint);
    assert.equal(first.networkDeclineCode === undefined, first.approved);
    if (first.networkAdviceCode) assert.equal(first.cardBrand, "mastercard");
  }
  const advised = declinedOf(bills).filter(({ first }) => first.networkAdviceCode).length;
  assertWithin(advised / declinedOf(bills).length, 0.03, 0.25);
  const cards = Map.groupBy(bills, ({ customerId }) => customerId);
  const replaced = [...cards.values()].filter(
    (bills) => new Set(bills.map(({ first }) => first.cardFingerprint)).size > 1,
  );
  assertWithin(replaced.length / cards.size, 0.1, 0.35);
});

test("an outage affects most cards of the issuer and hardly any others", () => {
  const { same, others } = outageShares(world(), 1, 100);
  assertWithin(same, 0.75, 1);
  assertWithin(others, 0, 0.05);
});

test("the oracle's chances match the outcomes of retries, soon after the failure and days later", () => {
  const retries = [2, 6].flatMap((days) => predictRetries(world(), 2, 150, days));
  const [all, unlikely, , likely] = predictionErrors(retries);
  assertWithin(all!, -0.03, 0.03);
  assertWithin(unlikely!, -0.04, 0.04);
  assertWithin(likely!, -0.07, 0.07);
});

test("a declined attempt makes the issuer more suspicious, and the oracle accounts for it", () => {
  const companies = world();
  let before = 0;
  let foreseen = 0;
  let after = 0;
  for (const bill of companies.bills(4, 150)) {
    if (bill.first.networkDeclineCode !== "05") continue;
    const soonAfter = new Date(bill.createdAt.getTime() + HOUR_MS);
    const later = new Date(bill.createdAt.getTime() + 5 * HOUR_MS);
    before += companies.approval(bill, later);
    foreseen += companies.approval(bill, later, [soonAfter]);
    companies.charge(bill, bill.createdAt);
    after += companies.approval(bill, later);
  }
  assert.ok(foreseen < 0.9 * before, `${foreseen} after a try in vain, ${before} before`);
  assert.ok(after < 0.95 * before, `${after} after a try, ${before} before`);
});

test("enough charges use up a limit, but never a plain card's", () => {
  const companies = world();
  const last = new Map<string, Bill>();
  for (const bill of companies.bills(5, 60)) last.set(bill.customerId, bill);
  const at = new Date(Math.max(...[...last.values()].map(({ createdAt }) => createdAt.getTime())));
  const lastAnswers = [...last.values()].map((bill) => {
    for (let n = 0; n < 60; n++) {
      const { approved, networkDeclineCode } = companies.charge(bill, at);
      if (!approved) return networkDeclineCode!;
    }
    return "paid";
  });
  const share = (...codes: string[]) => lastAnswers.filter((end) => codes.includes(end)).length / lastAnswers.length;
  assertWithin(share("51", "61"), 0.3, 0.7);
  assertWithin(share("paid"), 0.2, 0.55);
});

test("more companies at the edge cause more declines, and no company leaves when `gone` is 0", () => {
  const declined = (options: Record<string, unknown>) => declinedOf([...world(options).bills(6, 120)]);
  assert.ok(declined({ edge: 0.3 }).length > 1.3 * declined({ edge: 0.05 }).length);
  assert.equal(declineCodeShare(declined({ gone: 0 }), "46", "R1"), 0);
  assert.ok(declineCodeShare(declined({ gone: 1 }), "46", "R1") > 0);
  assert.throws(() => world({ edge: "much" }), /edge takes a number/);
});
