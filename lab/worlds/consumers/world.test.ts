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

test("10% to 15% of first charges are declined, two fifths for missing funds and a third without a reason", () => {
  assertWithin(declinedOf(bills).length / bills.length, 0.1, 0.15);
  assertWithin(declineCodeShare(bills, "51"), 0.32, 0.52);
  assertWithin(declineCodeShare(bills, "05", "59"), 0.27, 0.47);
  assertWithin(declineCodeShare(bills, "54", "14"), 0.04, 0.13);
  assertWithin(declineCodeShare(bills, "41", "43", "46", "R1"), 0.01, 0.07);
  assertWithin(declineCodeShare(bills, "61", "65"), 0.02, 0.12);
  assertWithin(declineCodeShare(bills, "91", "96"), 0.01, 0.06);
});

test("a charge reports its card, Mastercard declines carry advice, and some cards pay two merchants", () => {
  for (const { first } of bills) {
    assert.match(first.cardIssuer!, new RegExp(`^${first.cardCountry} `));
    assert.ok(first.cardBrand && first.cardFunding && first.cardFingerprint);
    assert.equal(first.networkDeclineCode === undefined, first.approved);
    if (first.networkAdviceCode) assert.equal(first.cardBrand, "mastercard");
  }
  const advised = declinedOf(bills).filter(({ first }) => first.networkAdviceCode).length;
  assertWithin(advised / declinedOf(bills).length, 0.03, 0.25);
  const cards = Map.groupBy(bills, ({ first }) => first.cardFingerprint);
  const isShared = (bills: Bill[]) => new Set(bills.map(({ customerId }) => customerId)).size > 1;
  assertWithin([...cards.values()].filter(isShared).length / 300, 0.07, 0.18);
});

test("an outage affects most cards of the issuer and hardly any others", () => {
  const { same, others } = outageShares(world(), 1, 100);
  assertWithin(same, 0.75, 1);
  assertWithin(others, 0, 0.05);
});

test("the oracle's chances match the outcomes of retries, soon after the failure and days later", () => {
  const answers = [2, 6].flatMap((days) => predictRetries(world(), 2, 150, days));
  const [all, unlikely, , likely] = predictionErrors(answers);
  assertWithin(all!, -0.03, 0.03);
  assertWithin(unlikely!, -0.04, 0.04);
  assertWithin(likely!, -0.07, 0.07);
});

test("an invoice declined for missing funds is likelier paid in the days after a pay day", () => {
  const people = world();
  const bestChances: number[] = [];
  const usualChances: number[] = [];
  for (const bill of people.bills(4, 150)) {
    if (bill.first.networkDeclineCode !== "51" || bill.windowDays < 21) continue;
    const chances = Array.from({ length: 80 }, (_, n) =>
      people.approval(bill, new Date(bill.createdAt.getTime() + (n + 1) * 6 * HOUR_MS)),
    );
    bestChances.push(Math.max(...chances));
    usualChances.push(chances.reduce((sum, chance) => sum + chance, 0) / chances.length);
  }
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  assert.ok(
    mean(bestChances) > 1.5 * mean(usualChances),
    `${mean(bestChances)} at best, ${mean(usualChances)} usually`,
  );
});

test("the world reports the days of wages and benefits, after which chances are better, and none for gig workers", () => {
  const people = world();
  const [usualChances, paid, areOnPayDay]: [number[], number[], boolean[]] = [[], [], []];
  for (const bill of people.bills(4, 150)) {
    if (bill.first.networkDeclineCode !== "51") continue;
    const isPayDay = people.payDays!(bill);
    areOnPayDay.push(isPayDay !== null);
    for (let days = 1; days <= 14 && isPayDay; days++) {
      const at = new Date(bill.createdAt.getTime() + days * 24 * HOUR_MS);
      const chance = people.approval(bill, at);
      usualChances.push(chance);
      if (isPayDay(Math.floor(at.getTime() / (24 * HOUR_MS)) - 1)) paid.push(chance);
    }
  }
  const mean = (values: readonly number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  assert.ok(mean(paid) > 1.2 * mean(usualChances), `${mean(paid)} after, ${mean(usualChances)} usually`);
  assert.deepEqual([areOnPayDay.includes(true), areOnPayDay.includes(false)], [true, true]);
});

test("a second decline within a day blocks the cards of some issuers, and the oracle accounts for it", () => {
  const people = world();
  let blocked = 0;
  let free = 0;
  for (const bill of people.bills(8, 250)) {
    if (bill.first.networkDeclineCode !== "51") continue;
    const soon = new Date(bill.createdAt.getTime() + HOUR_MS);
    const nextDay = new Date(bill.createdAt.getTime() + 30 * HOUR_MS);
    if (people.approval(bill, nextDay) < 0.2) continue;
    const isForeseen = people.approval(bill, nextDay, [soon]) === 0;
    assert.equal(people.charge(bill, bill.createdAt).approved, false);
    assert.equal(people.approval(bill, nextDay) === 0, isForeseen);
    if (isForeseen) blocked++;
    else free++;
  }
  assert.ok(blocked > 5 && free > 10, `${blocked} blocked, ${free} not`);
});

test("enough charges use up every person's money", () => {
  const people = world();
  const last = new Map<string, Bill>();
  for (const bill of people.bills(6, 60)) last.set(bill.customerId, bill);
  const at = new Date(Math.max(...[...last.values()].map(({ createdAt }) => createdAt.getTime())));
  for (const bill of last.values()) {
    const answers = Array.from({ length: 2000 }, () => people.charge(bill, at).approved);
    const paid = answers.filter(Boolean).length;
    assert.ok(paid < 2000, `${bill.customerId} paid ${paid}`);
    // Money that is gone at that time stays gone.
    assert.equal(answers.lastIndexOf(true), paid - 1);
  }
});

test("more households from hand to mouth cause more declines, and no person leaves when `left` is 0", () => {
  const declined = (options: Record<string, unknown>) => declinedOf([...world(options).bills(7, 120)]);
  assert.ok(declined({ tight: 2 }).length > 1.3 * declined({ tight: 0.5 }).length);
  assert.equal(declineCodeShare(declined({ left: 0 }), "46", "R1"), 0);
  assert.ok(declineCodeShare(declined({ left: 4 }), "46", "R1") > 0);
  assert.throws(() => world({ tight: "much" }), /tight takes a number/);
});
