import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTLED_HOUR } from "./model-layout.ts";
import {
  IMMEDIATE,
  learnSettlement,
  likeliestSettlement,
  newSettlementScores,
  SETTLEMENT_PATTERNS,
  settlementDay,
  settlementHour,
} from "./settlement.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (time: string) => Date.parse(`${time}:00Z`);
const patternOf = (cutoff: number, businessDays: number) =>
  SETTLEMENT_PATTERNS.findIndex((booking) => booking?.cutoff === cutoff && booking.businessDays === businessDays);
const settlementDayOf = (time: string, booking: number, offsetMs = 0) =>
  new Date(settlementDay({ offsetMs, booking }, at(time)) * DAY).toISOString().slice(0, 10);

test("a card is answered at once, in the customer's time zone", () => {
  const clock = { offsetMs: 2 * HOUR, booking: IMMEDIATE };
  assert.equal(settlementDay(clock, at("2026-03-07T23:00")), at("2026-03-08T00:00") / DAY);
  assert.equal(settlementHour(clock, at("2026-03-07T23:59")), 1);
  assert.equal(settlementDay(clock, at("2026-03-07T23:00")) - settlementDay(clock, at("2026-03-07T21:00")), 1);
});

test("a debit counts as submitted on a business day, the next one after the cut-off, and is booked the given business days later", () => {
  const [thursday, friday, saturday] = ["2026-03-05", "2026-03-06", "2026-03-07"];
  const sameDay = patternOf(14, 0);
  assert.equal(settlementDayOf(`${thursday}T13:59`, sameDay), "2026-03-05");
  assert.equal(settlementDayOf(`${thursday}T14:00`, sameDay), "2026-03-06");
  assert.equal(settlementDayOf(`${friday}T14:00`, sameDay), "2026-03-09");
  assert.equal(settlementDayOf(`${saturday}T09:00`, sameDay), "2026-03-09");
  const dayAfterNext = patternOf(17, 2);
  assert.equal(settlementDayOf(`${thursday}T16:59`, dayAfterNext), "2026-03-09");
  assert.equal(settlementDayOf(`${thursday}T17:00`, dayAfterNext), "2026-03-10");
  assert.equal(settlementDayOf(`${saturday}T09:00`, dayAfterNext), "2026-03-11");
  assert.equal(settlementHour({ offsetMs: 0, booking: dayAfterNext }, at(`${saturday}T09:00`)), SETTLED_HOUR);
  assert.equal(
    settlementDayOf(`${thursday}T15:00`, dayAfterNext, 2 * HOUR),
    "2026-03-10",
    "17:00 where the customer lives",
  );
});

test("a scheme's published pattern holds until retries contradict it, and cards have none", () => {
  const model = { bookings: newSettlementScores() };
  const daysOf = (scheme: string) => SETTLEMENT_PATTERNS[likeliestSettlement(model, scheme)]?.businessDays;
  assert.deepEqual(["sepa_debit", "ach_debit", "bacs_debit"].map(daysOf), [1, 1, 2]);
  assert.deepEqual(
    [likeliestSettlement(model, "card"), likeliestSettlement(model, "paypal"), likeliestSettlement(model, null)],
    [IMMEDIATE, IMMEDIATE, IMMEDIATE],
  );
  assert.equal(likeliestSettlement(model, "becs_debit"), IMMEDIATE, "of others nothing is published here");
});

test("the pattern that predicts outcomes best is chosen, for its scheme only", () => {
  const model = { bookings: newSettlementScores() };
  const before = likeliestSettlement(model, "ach_debit");
  const truth = patternOf(21, 0);
  for (let n = 0; n < 30; n++) {
    const approved = n % 3 === 0;
    learnSettlement(model, "sepa_debit", approved, (booking) => [booking === truth ? (approved ? 0.6 : 0.3) : 0.4]);
  }
  assert.equal(likeliestSettlement(model, "sepa_debit"), truth);
  assert.equal(likeliestSettlement(model, "ach_debit"), before);
  assert.ok(model.bookings.every((value) => Number.isFinite(value) && value <= 1));
});

test("an unlikely pattern is skipped until old retries have faded, and then a new cut-off is found", () => {
  const model = { bookings: newSettlementScores() };
  const [early, late] = [patternOf(11, 1), patternOf(24, 1)];
  let looks = 0;
  const simulateRetries = (count: number, truth: number) => {
    for (let n = 0; n < count; n++) {
      const approved = n % 2 === 0;
      learnSettlement(model, "sepa_debit", approved, (booking) => {
        looks++;
        return [booking === truth ? (approved ? 0.7 : 0.3) : 0.5];
      });
    }
  };
  simulateRetries(200, early);
  assert.equal(likeliestSettlement(model, "sepa_debit"), early);
  looks = 0;
  simulateRetries(20, early);
  assert.ok(looks >= 20 && looks < 80, `${looks} looks, where all would be ${20 * SETTLEMENT_PATTERNS.length}`);
  simulateRetries(2_000, late);
  assert.equal(likeliestSettlement(model, "sepa_debit"), late);
});

test("one retry never counts for more than odds of one in fifty per model, however certain its prediction was", () => {
  const model = { bookings: newSettlementScores() };
  const before = model.bookings.slice();
  learnSettlement(model, "bacs_debit", false, (booking) => [booking === patternOf(14, 2) ? 0 : 1]);
  const gain = (booking: number) => {
    const at = model.bookings.findIndex(
      (value, n) => value !== before[n] && n % SETTLEMENT_PATTERNS.length === booking,
    );
    return at < 0 ? 0 : model.bookings[at]! - before[at]!;
  };
  const gained = gain(patternOf(14, 2)) - gain(patternOf(24, 2));
  assert.ok(gained > 3.8 && gained < 4, `${gained} nats`);
});

test("a debit under its gateway's name settles like its scheme", () => {
  const model = { bookings: newSettlementScores() };
  assert.equal(likeliestSettlement(model, "us_bank_account"), likeliestSettlement(model, "ach_debit"));
  assert.equal(likeliestSettlement(model, "sepadirectdebit"), likeliestSettlement(model, "sepa_debit"));
  for (let n = 0; n < 40; n++) learnSettlement(model, "bacs", true, (booking) => [booking === 3 ? 0.9 : 0.5]);
  assert.equal(likeliestSettlement(model, "bacs_debit"), 3);
});

test("debit cards are cards: their networks' names are no schemes", () => {
  const model = { bookings: newSettlementScores() };
  model.bookings.forEach((_, n) => {
    model.bookings[n] = n % SETTLEMENT_PATTERNS.length === 3 ? 1 : 0;
  });
  assert.equal(likeliestSettlement(model, "becs_debit"), 3);
  for (const card of ["visa_debit", "interac_debit", "card_debit", "debit", "bank"])
    assert.equal(likeliestSettlement(model, card), IMMEDIATE);
});
