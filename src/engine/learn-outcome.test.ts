import assert from "node:assert/strict";
import { test } from "node:test";
import type { CustomerHistory, PastCharge } from "./infer-posterior.ts";
import { learnOutcome } from "./learn-outcome.ts";
import { newLearnedModel } from "./learned/learned-model.ts";
import { likeliestSettlement, SETTLEMENT_PATTERNS, settlementDay } from "./learned/settlement.ts";
import { shortfallDeviations } from "./learned/shortfall.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const SEPA = "sepa_debit";
const codes = { networkDeclineCode: "AM04", networkAdviceCode: null, gatewayCode: null, declineCategory: null };
const buildFailedCharge = (at: number): PastCharge => ({ at: new Date(at), approved: false, codes });

function buildHistory(charges: PastCharge[], paymentMethodType: string): CustomerHistory {
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
function trainModel(booking: number, paymentMethodType: string) {
  const learned = newLearnedModel();
  const start = newLearnedModel();
  for (let n = 0; n < 500; n++) {
    const failedAt = Date.UTC(2026, 0, 1 + (n % 300), 9);
    const at = failedAt + (2 + (n % 7)) * DAY + 4 * ((5 * n) % 6) * HOUR;
    const weekday = new Date(settlementDay({ offsetMs: 0, booking }, at) * DAY).getUTCDay();
    const reason = weekday === 3 || weekday === 4 ? "FUNDS" : null;
    learnOutcome(learned, start, buildHistory([buildFailedCharge(failedAt)], paymentMethodType), {
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
    const truth = SETTLEMENT_PATTERNS.findIndex((one) => one?.cutoff === cutoff && one?.businessDays === businessDays);
    assert.equal(SETTLEMENT_PATTERNS[likeliestSettlement(trainModel(truth, SEPA), SEPA)]?.businessDays, businessDays);
  }
});

test("an outcome is learned by the booking that was held when the try was made, whichever holds after it", () => {
  const [held, other] = [7, 13];
  const outcome = { at: new Date(Date.UTC(2026, 2, 6, 15)), reason: null, isFirst: true, said: null };
  const history = buildHistory([buildFailedCharge(Date.UTC(2026, 2, 2, 9))], SEPA);
  const after = (lead: number) => {
    const learned = newLearnedModel();
    learned.bookings.fill(0);
    for (let n = held; n < learned.bookings.length; n += SETTLEMENT_PATTERNS.length) learned.bookings[n] = lead;
    for (let n = other; n < learned.bookings.length; n += SETTLEMENT_PATTERNS.length) learned.bookings[n] = lead - 1e-6;
    learnOutcome(learned, newLearnedModel(), history, outcome);
    return learned;
  };
  const shaky = after(1e-5);
  assert.notEqual(likeliestSettlement(shaky, SEPA), held, "this outcome speaks for another one");
  const learned = newLearnedModel();
  learned.bookings.fill(-100);
  for (let n = held; n < learned.bookings.length; n += SETTLEMENT_PATTERNS.length) learned.bookings[n] = 0;
  learnOutcome(learned, newLearnedModel(), history, outcome);
  assert.equal(likeliestSettlement(learned, SEPA), held);
  assert.deepEqual(shaky.mean, learned.mean);
});

test("of cards nothing is learned about bookings", () => {
  assert.deepEqual(trainModel(4, "card").bookings, newLearnedModel().bookings);
});

test("what was said of a retry is held beside what came of it, where anything was said, by the reason that the case began with", () => {
  const plain = { ...codes, networkDeclineCode: "05" };
  const first = { ...buildFailedCharge(30 * DAY), codes: plain };
  const history = buildHistory(
    [first, { ...buildFailedCharge(33 * DAY), codes: { ...codes, networkDeclineCode: "51" } }],
    "card",
  );
  const learned = newLearnedModel();
  const outcome = { at: new Date(40 * DAY), reason: "FUNDS" as const, isFirst: false };
  learnOutcome(learned, newLearnedModel(), history, { ...outcome, said: null });
  assert.deepEqual(learned.shortfalls, newLearnedModel().shortfalls);
  for (let n = 0; n < 50; n++)
    learnOutcome(learned, newLearnedModel(), history, { ...outcome, at: new Date(40 * DAY + n * HOUR), said: 0.5 });
  assert.ok(shortfallDeviations(learned, { firstReason: "GENERIC" }, 43 * DAY) > 3);
  assert.equal(shortfallDeviations(learned, { firstReason: "FUNDS" }, 43 * DAY), 0);
});

test("what was known before any lesson stays as it is", () => {
  const start = newLearnedModel();
  const outcome = { at: new Date(40 * DAY), reason: null, isFirst: true, said: null };
  learnOutcome(newLearnedModel(), start, buildHistory([buildFailedCharge(30 * DAY)], SEPA), outcome);
  const { workspace: _, ...kept } = start;
  const { workspace: __, ...expected } = newLearnedModel();
  assert.deepEqual(kept, expected);
});

test("a customer counts for their country at the first retry of the first bill that failed, and no more", () => {
  const open = buildHistory([buildFailedCharge(30 * DAY)], "card");
  const paid = { at: new Date(5 * DAY), approved: true, codes: null };
  const countedAfter = (earlier: PastCharge[][], isFirst: boolean) => {
    const learned = newLearnedModel();
    const people = () => learned.cycles.reduce((sum, count) => sum + count, 0);
    const before = people();
    const bills = [...earlier.map((charges) => ({ ...open.bills[0]!, charges })), ...open.bills];
    learnOutcome(
      learned,
      newLearnedModel(),
      { ...open, bills },
      { at: new Date(33 * DAY), reason: null, isFirst, said: null },
    );
    return Math.round(10 * (people() - before)) / 10;
  };
  assert.equal(countedAfter([], true), 0.2);
  assert.equal(countedAfter([[paid]], true), 0.2, "a bill that was paid at once counts for none");
  assert.equal(countedAfter([[buildFailedCharge(DAY), paid]], true), 0);
  assert.equal(countedAfter([], false), 0);
});
