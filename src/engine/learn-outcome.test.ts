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
  return { traits, instrument, offsetAt: () => 0, invoices: [{ dollars: 20, paymentMethodType, charges }] };
}

/**
 * Trains on retries of customers who are paid on Fridays and have spent the money by Wednesday; charges settle by one pattern.
 */
function trainModel(booking: number, paymentMethodType: string) {
  const model = newLearnedModel();
  const start = newLearnedModel();
  for (let n = 0; n < 500; n++) {
    const failedAt = Date.UTC(2026, 0, 1 + (n % 300), 9);
    const at = failedAt + (2 + (n % 7)) * DAY + 4 * ((5 * n) % 6) * HOUR;
    const weekday = new Date(settlementDay({ offsetMs: 0, booking }, at) * DAY).getUTCDay();
    const reason = weekday === 3 || weekday === 4 ? "FUNDS" : null;
    learnOutcome(model, start, buildHistory([buildFailedCharge(failedAt)], paymentMethodType), {
      at: new Date(at),
      reason,
      isFirst: true,
      predictedChance: null,
    });
  }
  return model;
}

test("a scheme's settlement pattern is learned from outcomes of debits, whatever the scheme publishes", () => {
  for (const [cutoff, businessDays] of [
    [11, 0],
    [14, 1],
  ]) {
    const truth = SETTLEMENT_PATTERNS.findIndex((one) => one?.cutoff === cutoff && one?.businessDays === businessDays);
    assert.equal(SETTLEMENT_PATTERNS[likeliestSettlement(trainModel(truth, SEPA), SEPA)]?.businessDays, businessDays);
  }
});

test("an outcome is learned with the settlement pattern of its time, whatever pattern follows", () => {
  const [held, other] = [7, 13];
  const outcome = { at: new Date(Date.UTC(2026, 2, 6, 15)), reason: null, isFirst: true, predictedChance: null };
  const history = buildHistory([buildFailedCharge(Date.UTC(2026, 2, 2, 9))], SEPA);
  const after = (lead: number) => {
    const model = newLearnedModel();
    model.bookings.fill(0);
    for (let n = held; n < model.bookings.length; n += SETTLEMENT_PATTERNS.length) model.bookings[n] = lead;
    for (let n = other; n < model.bookings.length; n += SETTLEMENT_PATTERNS.length) model.bookings[n] = lead - 1e-6;
    learnOutcome(model, newLearnedModel(), history, outcome);
    return model;
  };
  const shaky = after(1e-5);
  assert.notEqual(likeliestSettlement(shaky, SEPA), held, "this outcome speaks for another one");
  const model = newLearnedModel();
  model.bookings.fill(-100);
  for (let n = held; n < model.bookings.length; n += SETTLEMENT_PATTERNS.length) model.bookings[n] = 0;
  learnOutcome(model, newLearnedModel(), history, outcome);
  assert.equal(likeliestSettlement(model, SEPA), held);
  assert.deepEqual(shaky.mean, model.mean);
});

test("cards do not affect settlement patterns", () => {
  assert.deepEqual(trainModel(4, "card").bookings, newLearnedModel().bookings);
});

test("a retry's prediction, if any, is compared with its outcome, by the case's first reason", () => {
  const plain = { ...codes, networkDeclineCode: "05" };
  const first = { ...buildFailedCharge(30 * DAY), codes: plain };
  const history = buildHistory(
    [first, { ...buildFailedCharge(33 * DAY), codes: { ...codes, networkDeclineCode: "51" } }],
    "card",
  );
  const model = newLearnedModel();
  const outcome = { at: new Date(40 * DAY), reason: "FUNDS" as const, isFirst: false };
  learnOutcome(model, newLearnedModel(), history, { ...outcome, predictedChance: null });
  assert.deepEqual(model.shortfalls, newLearnedModel().shortfalls);
  for (let n = 0; n < 50; n++)
    learnOutcome(model, newLearnedModel(), history, {
      ...outcome,
      at: new Date(40 * DAY + n * HOUR),
      predictedChance: 0.5,
    });
  assert.ok(shortfallDeviations(model, { firstReason: "GENERIC" }, 43 * DAY) > 3);
  assert.equal(shortfallDeviations(model, { firstReason: "FUNDS" }, 43 * DAY), 0);
});

test("the pretrained model does not change when another model learns", () => {
  const start = newLearnedModel();
  const outcome = { at: new Date(40 * DAY), reason: null, isFirst: true, predictedChance: null };
  learnOutcome(newLearnedModel(), start, buildHistory([buildFailedCharge(30 * DAY)], SEPA), outcome);
  const { workspace: _, ...kept } = start;
  const { workspace: __, ...expected } = newLearnedModel();
  assert.deepEqual(kept, expected);
});

test("a customer counts for the country once, at the first retry of the first failed invoice", () => {
  const open = buildHistory([buildFailedCharge(30 * DAY)], "card");
  const paid = { at: new Date(5 * DAY), approved: true, codes: null };
  const countedAfter = (earlier: PastCharge[][], isFirst: boolean) => {
    const model = newLearnedModel();
    const people = () => model.cycles.reduce((sum, count) => sum + count, 0);
    const before = people();
    const invoices = [...earlier.map((charges) => ({ ...open.invoices[0]!, charges })), ...open.invoices];
    learnOutcome(
      model,
      newLearnedModel(),
      { ...open, invoices },
      { at: new Date(33 * DAY), reason: null, isFirst, predictedChance: null },
    );
    return Math.round(10 * (people() - before)) / 10;
  };
  assert.equal(countedAfter([], true), 0.2);
  assert.equal(countedAfter([[paid]], true), 0.2, "a bill that was paid at once counts for none");
  assert.equal(countedAfter([[buildFailedCharge(DAY), paid]], true), 0);
  assert.equal(countedAfter([], false), 0);
});
