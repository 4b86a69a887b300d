import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../src/domain/durations.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { countBrokenRules } from "./broken-rules.ts";
import { type Attempt, findRules, type OpenCase } from "./policy.ts";

const START = Date.UTC(2026, 0, 1);
const BILL = { id: "b", subscriptionId: "own", amount: 100, createdAt: new Date(START) } as Bill;
const OTHER: Bill = { ...BILL, id: "other", subscriptionId: "another" };

/** Builds an attempt that names no card. `code`: null is approved. */
const buildAttempt = (bill: Bill, day: number, cardBrand: string, code: string | null, rest: Partial<Charge> = {}) => {
  const at = new Date(START + day * DAY_MS);
  const answer = code === null ? { approved: true } : { approved: false, networkDeclineCode: code };
  return { bill, charge: { at, paymentMethodType: "card", cardBrand, ...answer, ...rest } };
};
/** The case of `BILL` after these attempts. */
const openAfter = (attempts: Attempt[]): OpenCase => {
  const charges = attempts.filter(({ bill }) => bill === BILL).map(({ charge }) => charge);
  const endsAt = START + 28 * DAY_MS;
  return { bill: BILL, charges, retriesLeft: 1, endsAt, attempts, byCard: new Map(), byCustomer: new Map() };
};
const isRetryAllowed = (...attempts: Attempt[]) => findRules(openAfter(attempts)).allow(START + 9 * DAY_MS);

const paidByMastercard = buildAttempt(OTHER, 2, "mastercard", null);

test("an approval on another network unblocks nothing on the subscription's card when there are no fingerprints", () => {
  const closed = buildAttempt(BILL, 0, "visa", "46");
  assert.deepEqual([isRetryAllowed(closed), isRetryAllowed(closed, paidByMastercard)], [false, false]);
  // The subscription itself was charged on another card since.
  const renewed = buildAttempt(BILL, 1, "mastercard", "51");
  assert.deepEqual([isRetryAllowed(closed, renewed), isRetryAllowed(closed, renewed, paidByMastercard)], [true, true]);
});

test("an answer to a card of another network applies to that card, and to both in doubt, when there are no fingerprints", () => {
  const short = buildAttempt(BILL, 1, "Visa", "51");
  const again = buildAttempt(BILL, 9, "Visa", "51");
  const retry = { charge: again.charge, choice: { at: +again.charge.at, chance: null } };
  const results = ["Mastercard", "visa", ""].map((brand) => {
    const before = [buildAttempt(OTHER, 0, brand, "41"), short, paidByMastercard];
    return [isRetryAllowed(...before), countBrokenRules([{ ...retry, open: openAfter([...before, again]) }])];
  });
  assert.deepEqual(results, [
    [true, 0],
    [false, 1],
    [false, 1],
  ]);
});

test("a decline on another invoice expires after a month when the card was approved since, and not before", () => {
  const declined = (day: number, code: string, advice = "", brand = "visa") =>
    buildAttempt(OTHER, day, brand, code, { networkAdviceCode: advice, cardFingerprint: "f" });
  const results = (blocked: Attempt, ...paid: Attempt[]) => {
    const short = buildAttempt(BILL, 1, blocked.charge.cardBrand!, "51", { cardFingerprint: "f" });
    const again = buildAttempt(BILL, 9, blocked.charge.cardBrand!, "51", { cardFingerprint: "f" });
    const retry = { charge: again.charge, choice: { at: +again.charge.at, chance: null } };
    const before = [blocked, ...paid, short];
    return [isRetryAllowed(...before), countBrokenRules([{ ...retry, open: openAfter([...before, again]) }])];
  };
  const paid = buildAttempt(OTHER, -5, "visa", null, { cardFingerprint: "f" });
  assert.deepEqual(results(declined(-21, "57"), paid), [true, 0]);
  assert.deepEqual(results(declined(-21, "05", "03", "mastercard"), paid), [true, 0]);
  assert.deepEqual(results(declined(-20.9, "57"), paid), [false, 1]);
  assert.deepEqual(results(declined(-21, "57")), [false, 1]);
  assert.deepEqual(results(declined(-21, "57"), { ...paid, charge: { ...paid.charge, cardFingerprint: "g" } }), [
    false,
    1,
  ]);
});

test("a card's decline on another customer's invoice applies to every customer who pays with it", () => {
  const card = { cardFingerprint: "shared" };
  const others: Bill = { ...OTHER, customerId: "somebody else" };
  const results = (...onCard: Attempt[]) => {
    const short = buildAttempt(BILL, 1, "mastercard", "51", card);
    const again = buildAttempt(BILL, 9, "mastercard", "51", card);
    const byCustomer = new Map([[others.customerId, onCard]]);
    const before = { ...openAfter([short]), byCard: new Map([["shared", [...onCard, short]]]), byCustomer };
    const retry = { charge: again.charge, choice: { at: +again.charge.at, chance: null } };
    return [findRules(before).allow(START + 9 * DAY_MS), countBrokenRules([{ ...retry, open: before }])];
  };
  const advised = buildAttempt(others, 8.5, "mastercard", "51", { ...card, networkAdviceCode: "25" });
  const crowd = Array.from({ length: 10 }, (_, n) => buildAttempt(others, 8.2 + n / 100, "mastercard", "51", card));
  assert.deepEqual(results(), [true, 0]);
  assert.deepEqual(results(advised), [false, 1]);
  assert.deepEqual(results(...crowd), [false, 1]);
});

test("customers with the same card share its replacement, but no card used before or beside it", () => {
  const others: Bill = { ...OTHER, customerId: "somebody else" };
  const on = (bill: Bill, day: number, card: string, networkAdviceCode = "") =>
    buildAttempt(bill, day, "mastercard", "51", { cardFingerprint: card, networkAdviceCode });
  const isAllowed = (...attempts: Attempt[]) => {
    const byCard = Map.groupBy(attempts, ({ charge }) => charge.cardFingerprint!);
    const byCustomer = Map.groupBy(attempts, ({ bill }) => bill.customerId);
    return findRules({ ...openAfter(byCustomer.get(BILL.customerId)!), byCard, byCustomer }).allow(START + 9 * DAY_MS);
  };
  const [shared, own] = [on(others, 0, "a"), on(BILL, 1, "a")];
  assert.equal(isAllowed(shared, own, on(others, 8.5, "b", "25")), false, "replaced");
  assert.equal(isAllowed(shared, own, on(others, 8.5, "b")), true, "and told nothing");
  assert.equal(isAllowed(on(others, -1, "b"), shared, own, on(others, 8.5, "b", "25")), true, "another one of theirs");
  assert.equal(isAllowed(shared, on(others, 0.5, "b", "25"), own), true, "this one is charged since");
});

test("a substitute card of another network follows its own network's rules when the first card is charged again", () => {
  const retryCounts = (brand: string, other: string, code: string, networkAdviceCode = "") => [
    buildAttempt(BILL, 0, brand, "51"),
    buildAttempt(BILL, 1, other, code, { networkAdviceCode }),
    buildAttempt(BILL, 2, brand, "51"),
  ];
  assert.equal(isRetryAllowed(...retryCounts("visa", "mastercard", "51", "03")), false);
  assert.equal(isRetryAllowed(...retryCounts("visa", "mastercard", "57")), true);
  assert.equal(isRetryAllowed(...retryCounts("mastercard", "visa", "57")), false);
});

test("a debit keeps its scheme's count when another subscription is paid by card and no fingerprint names either", () => {
  const presented = [0, 0.5, 1].map((day) => buildAttempt(BILL, day, "", "AM04", { paymentMethodType: "sepa_debit" }));
  assert.equal(isRetryAllowed(...presented.slice(1), paidByMastercard), true);
  assert.equal(isRetryAllowed(...presented, paidByMastercard), false);
});
