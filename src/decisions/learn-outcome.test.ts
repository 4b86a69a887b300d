import assert from "node:assert/strict";
import { test } from "node:test";
import { BOOKINGS, bookingOf, judgedOn } from "../model/booking.ts";
import { newLearned } from "../model/learned.ts";
import { shortfallOf } from "../model/shortfall.ts";
import { learnOutcome } from "./learn-outcome.ts";
import type { History, PastCharge } from "./recall.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SEPA = "sepa_debit";
const codes = { networkDeclineCode: "AM04", networkAdviceCode: null, gatewayCode: null, declineCategory: null };
const failed = (at: number): PastCharge => ({ at: new Date(at), approved: false, codes });

function historyOf(charges: PastCharge[], paymentMethodType: string): History {
  const traits = {
    tenureDays: 200,
    billingPeriod: 1,
    billingPeriodUnit: "MONTH",
    merchant: "own",
    country: "DE",
    paymentMethodType,
    network: null,
    funding: null,
    issuer: null,
  };
  const instrument = { paymentMethodType, network: null, cardCountry: "DE" };
  return { traits, instrument, offsetAt: () => 0, bills: [{ dollars: 20, paymentMethodType, charges }] };
}

/** Outcomes of retries where everybody is paid on Fridays and has spent it by Wednesday; what is handed in is booked one way. */
function taught(booking: number, paymentMethodType: string) {
  const learned = newLearned();
  const start = newLearned();
  for (let n = 0; n < 500; n++) {
    const failedAt = Date.UTC(2026, 0, 1 + (n % 300), 9);
    const at = failedAt + (2 + (n % 7)) * DAY + 4 * ((5 * n) % 6) * HOUR;
    const weekday = new Date(judgedOn({ offsetMs: 0, booking }, at) * DAY).getUTCDay();
    const reason = weekday === 3 || weekday === 4 ? "FUNDS" : null;
    learnOutcome(learned, start, historyOf([failed(failedAt)], paymentMethodType), {
      at: new Date(at),
      reason,
      isFirst: true,
      said: null,
    });
  }
  return learned;
}

test("how a scheme books is learned from the outcomes of debits, whatever is published of it", () => {
  for (const [cutoff, businessDays] of [
    [11, 0],
    [14, 1],
  ]) {
    const truth = BOOKINGS.findIndex((one) => one?.cutoff === cutoff && one?.businessDays === businessDays);
    assert.equal(BOOKINGS[bookingOf(taught(truth, SEPA), SEPA)]?.businessDays, businessDays);
  }
});

test("an outcome is learned by the booking that was held when the try was made, whichever holds after it", () => {
  const [held, other] = [7, 13];
  const outcome = { at: new Date(Date.UTC(2026, 2, 6, 15)), reason: null, isFirst: true, said: null };
  const history = historyOf([failed(Date.UTC(2026, 2, 2, 9))], SEPA);
  const after = (lead: number) => {
    const learned = newLearned();
    learned.bookings.fill(0);
    for (let n = held; n < learned.bookings.length; n += BOOKINGS.length) learned.bookings[n] = lead;
    for (let n = other; n < learned.bookings.length; n += BOOKINGS.length) learned.bookings[n] = lead - 1e-6;
    learnOutcome(learned, newLearned(), history, outcome);
    return learned;
  };
  const shaky = after(1e-5);
  assert.notEqual(bookingOf(shaky, SEPA), held, "this outcome speaks for another one");
  const learned = newLearned();
  learned.bookings.fill(-100);
  for (let n = held; n < learned.bookings.length; n += BOOKINGS.length) learned.bookings[n] = 0;
  learnOutcome(learned, newLearned(), history, outcome);
  assert.equal(bookingOf(learned, SEPA), held);
  assert.deepEqual(shaky.mean, learned.mean);
});

test("of cards nothing is learned about bookings", () => {
  assert.deepEqual(taught(4, "card").bookings, newLearned().bookings);
});

test("what was said of a retry is held beside what came of it, where anything was said, by the reason that the case began with", () => {
  const plain = { ...codes, networkDeclineCode: "05" };
  const first = { ...failed(30 * DAY), codes: plain };
  const history = historyOf([first, { ...failed(33 * DAY), codes: { ...codes, networkDeclineCode: "51" } }], "card");
  const learned = newLearned();
  const outcome = { at: new Date(40 * DAY), reason: "FUNDS" as const, isFirst: false };
  learnOutcome(learned, newLearned(), history, { ...outcome, said: null });
  assert.deepEqual(learned.shortfalls, newLearned().shortfalls);
  for (let n = 0; n < 50; n++)
    learnOutcome(learned, newLearned(), history, { ...outcome, at: new Date(40 * DAY + n * HOUR), said: 0.5 });
  assert.ok(shortfallOf(learned, { firstReason: "GENERIC" }, 43 * DAY) > 3);
  assert.equal(shortfallOf(learned, { firstReason: "FUNDS" }, 43 * DAY), 0);
});

test("what was known before any lesson stays as it is", () => {
  const start = newLearned();
  const outcome = { at: new Date(40 * DAY), reason: null, isFirst: true, said: null };
  learnOutcome(newLearned(), start, historyOf([failed(30 * DAY)], SEPA), outcome);
  assert.deepEqual(start, newLearned());
});

test("a customer counts for their country at the first retry of the first bill that failed, and no more", () => {
  const open = historyOf([failed(30 * DAY)], "card");
  const paid = { at: new Date(5 * DAY), approved: true, codes: null };
  const countedAfter = (earlier: PastCharge[][], isFirst: boolean) => {
    const learned = newLearned();
    const people = () => learned.cycles.reduce((sum, count) => sum + count, 0);
    const before = people();
    const bills = [...earlier.map((charges) => ({ ...open.bills[0]!, charges })), ...open.bills];
    learnOutcome(
      learned,
      newLearned(),
      { ...open, bills },
      { at: new Date(33 * DAY), reason: null, isFirst, said: null },
    );
    return Math.round(10 * (people() - before)) / 10;
  };
  assert.equal(countedAfter([], true), 0.2);
  assert.equal(countedAfter([[paid]], true), 0.2, "a bill that was paid at once counts for none");
  assert.equal(countedAfter([[failed(DAY), paid]], true), 0);
  assert.equal(countedAfter([], false), 0);
});
