import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDecline } from "../case-features.ts";
import { columnsAt, writeRetryWeights } from "./active-weights.ts";
import { type CasePosterior, newCasePosterior, newCustomerPosterior } from "./case-posterior.ts";
import { buildForecast } from "./forecast.ts";
import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import {
  classOf,
  dateWeight,
  featureIndex,
  type Reason,
  ROW_WIDTH,
  ROWS_BY_KIND,
  rowStart,
  STANDINGS,
  WEIGHT_STARTS,
  withCodeRow,
} from "./model-layout.ts";
import { chanceOf, observeRetry } from "./observe.ts";
import { CYCLE_COUNT } from "./pay-cycles.ts";
import { type BankClock, IMMEDIATE, SETTLEMENT_PATTERNS, settlementDay } from "./settlement.ts";
import { learnFirstCharge, learnRetry } from "./train.ts";
import { MAX_ACTIVE_WEIGHTS } from "./workspace.ts";

const UTC = { offsetMs: 0, booking: IMMEDIATE };
const DAY = 86_400_000;
const at = (time: string) => Date.parse(`${time}:00Z`);
const FAILED_AT = at("2026-03-12T09:00");
const NO_NAMES = new Int32Array(0);
const newSwedishCustomer = (model: LearnedModel) => newCustomerPosterior(model, "SE");

function buildPosterior(model: LearnedModel, rows: Int32Array, reason: Reason = "GENERIC") {
  const facts = {
    reason,
    code: "05",
    standing: STANDINGS.between,
    features: NO_NAMES,
    codeFeature: WEIGHT_STARTS.name,
    rows,
  };
  return newCasePosterior(model, newSwedishCustomer(model), {
    ...facts,
    clock: UTC,
    failedAt: FAILED_AT,
    recent: [],
  });
}

/** Kinds of weights, in layout order. */
const KINDS = Object.keys(WEIGHT_STARTS) as (keyof typeof WEIGHT_STARTS)[];
const kindOf = (weight: number) => KINDS.findLast((kind) => WEIGHT_STARTS[kind] <= weight)!;

function weightsAt(posterior: CasePosterior, time: string) {
  const weights = new Int32Array(MAX_ACTIVE_WEIGHTS);
  return new Set(weights.subarray(0, writeRetryWeights(posterior, at(time), weights)));
}

test("a retry has a weight for each known aspect: its time, the earlier attempts, and the case", () => {
  const base: CasePosterior = {
    ...buildPosterior(newLearnedModel(), new Int32Array(0), "FUNDS"),
    firstFailedAt: at("2026-03-12T12:00"),
    lastTriedAt: at("2026-03-14T05:00"),
    retryCount: 1,
  };
  const tuesday = "2026-03-17T09:00";
  const usual = weightsAt(base, tuesday);
  const changed = (overrides: Partial<CasePosterior>, time = tuesday) => {
    const others = [...weightsAt({ ...base, ...overrides }, time)].filter((weight) => !usual.has(weight));
    return KINDS.filter((kind) => others.some((weight) => kindOf(weight) === kind)).join(" ");
  };
  assert.equal(changed({}, "2026-03-17T13:00"), "hour");
  assert.equal(changed({}, "2026-03-18T09:00"), "weekday date");
  assert.equal(changed({ clock: { ...UTC, offsetMs: 16 * 3_600_000 } }), "hour weekday date");
  assert.equal(changed({ firstFailedAt: at("2026-03-02T12:00") }), "elapsed");
  assert.equal(changed({ lastTriedAt: at("2026-03-16T05:00") }), "gap");
  assert.equal(changed({ retryCount: 2 }), "tries");
  assert.equal(changed({ recent: [at("2026-03-14T05:00"), at("2026-03-16T05:00")] }), "weekTries");
  assert.equal(changed({ dateCells: new Uint8Array(31).fill(6) }), "dateCell");
  assert.equal(changed({ otherCharge: { at: at("2026-03-16T05:00"), approved: true, count: 1 } }), "beside");
  assert.equal(changed({ features: Int32Array.of(featureIndex("a name")) }), "name");
  assert.equal(changed({ rows: Int32Array.of(rowStart("issuer", "a bank")) }), "row");
  assert.equal(changed({ reason: "LIMIT" }), "reason hour weekday elapsed tries gap dateCell");
});

test("the effect of a date is learned from retries, however many first charges fall on it", () => {
  const model = newLearnedModel();
  const weightOf = (date: number) => model.mean[dateWeight(classOf("FUNDS"), date)]!;
  for (let n = 0; n < 400; n++) {
    const isGood = n % 2 === 0;
    const triedAt = at(`2026-03-${isGood ? "25" : "18"}T09:00`);
    for (let month = 0; month < 12; month++)
      learnFirstCharge(model, newSwedishCustomer(model), NO_NAMES, UTC, triedAt, month % 4 === 0 ? "FUNDS" : null);
    const posterior = buildPosterior(model, new Int32Array(0), "FUNDS");
    learnRetry(model, newSwedishCustomer(model), posterior, triedAt, isGood ? null : "FUNDS");
  }
  assert.ok(weightOf(25) > 0.3, `${weightOf(25)}`);
  assert.ok(weightOf(18) < -0.3, `${weightOf(18)}`);
});

test("a case's attributes have their own times, learned apart from other attributes and without effect on other times", () => {
  const model = newLearnedModel();
  const rowsOf = (country: string, code: string, issuer: string) =>
    Int32Array.of(rowStart("country", country), rowStart("code", code), rowStart("issuer", issuer));
  const triedAt = at("2026-03-13T02:00");
  for (let n = 0; n < 800; n++) {
    const isOwn = n % 2 === 0;
    const rows = isOwn ? rowsOf("SE", "51", "one bank") : rowsOf("PL", "05", "another");
    learnRetry(model, newSwedishCustomer(model), buildPosterior(model, rows), triedAt, isOwn ? null : "GENERIC");
  }
  const chance = (rows: Int32Array, time = triedAt) =>
    buildForecast(model, buildPosterior(model, rows), [time]).chances[0]!;
  const own = chance(rowsOf("SE", "51", "one bank"));
  const others = chance(rowsOf("PL", "05", "another"));
  assert.ok(own > others + 0.2, `${own} against ${others}`);
  for (const rows of [rowsOf("SE", "05", "another"), rowsOf("PL", "51", "another"), rowsOf("PL", "05", "one bank")]) {
    const mixed = chance(rows);
    assert.ok(mixed > others + 0.02, `${mixed} against ${others}`);
  }
  const elsewhen = at("2026-03-21T13:00");
  const later = [rowsOf("SE", "51", "one bank"), rowsOf("PL", "05", "another")].map((rows) => chance(rows, elsewhen));
  assert.ok(Math.abs(later[0]! - later[1]!) < 1e-9, `another hour, weekday, date and time: ${later}`);
});

test("the effect of a retry's decline code is learned apart from the case's first code", () => {
  const model = newLearnedModel();
  const after = (code: string) => {
    const posterior = buildPosterior(model, Int32Array.of(rowStart("country", "SE"), rowStart("code", "05")), "LIMIT");
    observeRetry(model, newSwedishCustomer(model), posterior, FAILED_AT + DAY, "LIMIT");
    applyDecline(posterior, "05", code);
    return posterior;
  };
  const chance = (code: string, days: number) => chanceOf(model, after(code), FAILED_AT + days * DAY);
  for (let n = 0; n < 60; n++) {
    // One limit is lifted by the next day, the other after a week.
    learnRetry(model, newSwedishCustomer(model), after("61"), FAILED_AT + 2 * DAY, null);
    learnRetry(model, newSwedishCustomer(model), after("65"), FAILED_AT + 2 * DAY, "LIMIT");
    learnRetry(model, newSwedishCustomer(model), after("65"), FAILED_AT + 8 * DAY, null);
  }
  const [soon, tooSoon, late] = [chance("61", 2), chance("65", 2), chance("65", 8)];
  assert.ok(soon > tooSoon + 0.3 && late > tooSoon + 0.3, `${soon}, ${tooSoon}, ${late}`);
});

test("the row of the latest code replaces the previous one, also when there was none, and no other row changes", () => {
  const [country, first, latest] = [rowStart("country", "SE"), rowStart("code", "05"), rowStart("code", "61")];
  assert.deepEqual(withCodeRow(Int32Array.of(country, first), latest), Int32Array.of(country, latest));
  assert.deepEqual(withCodeRow(Int32Array.of(country), latest), Int32Array.of(country, latest));
  const edges = Int32Array.of(
    ROWS_BY_KIND.code.start - ROW_WIDTH,
    ROWS_BY_KIND.code.start + ROWS_BY_KIND.code.rows * ROW_WIDTH,
  );
  assert.deepEqual(withCodeRow(edges, latest), Int32Array.of(...edges, latest));
});

test("the predicted probability of a retry equals the one that weighs its outcome, however uncertain the weights are", () => {
  const model = newLearnedModel();
  const posterior = buildPosterior(model, new Int32Array(0), "FUNDS");
  const customer = newSwedishCustomer(model);
  for (const [days, reason] of [
    [1, "FUNDS"],
    [4, "GENERIC"],
    [9, "FUNDS"],
    [16, null],
  ] as const) {
    const triedAt = FAILED_AT + days * DAY;
    const prediction = chanceOf(model, posterior, triedAt);
    const weighed = learnRetry(model, customer, posterior, triedAt, reason);
    assert.ok(Math.abs(weighed - prediction) < 1e-4, `${weighed} and ${prediction}`);
  }
});

test("a debit is treated like a card charged on the morning of the booking day", () => {
  const model = newLearnedModel();
  const booking = SETTLEMENT_PATTERNS.findIndex((one) => one?.cutoff === 14 && one.businessDays === 2);
  const [failedAt, askedAt] = [at("2026-03-12T15:00"), at("2026-03-20T15:00")];
  const morning = (time: number) => settlementDay({ offsetMs: 0, booking }, time) * DAY + 8 * (DAY / 24);
  const facts = {
    reason: "FUNDS",
    code: "51",
    standing: STANDINGS.between,
    codeFeature: WEIGHT_STARTS.name,
    recent: [],
  } as const;
  const caseOf = (clock: BankClock, time: number) =>
    newCasePosterior(model, newSwedishCustomer(model), {
      ...facts,
      features: NO_NAMES,
      rows: new Int32Array(0),
      recent: [],
      clock,
      failedAt: time,
    });
  const debit = caseOf({ offsetMs: 0, booking }, failedAt);
  const card = caseOf(UTC, morning(failedAt));
  // Compares pay cycles only, because holds depend on the time of the request.
  for (const posterior of [debit, card]) posterior.shares.fill(0, CYCLE_COUNT);
  const chance = (posterior: CasePosterior, time: number) => buildForecast(model, posterior, [time]).chances[0]!;
  assert.equal(chance(debit, askedAt), chance(card, morning(askedAt)));
  assert.notEqual(chance(debit, askedAt), chance(card, askedAt));
  const ofDebit = columnsAt(debit, askedAt).slice(1, 3);
  assert.deepEqual(ofDebit, columnsAt(card, morning(askedAt)).slice(1, 3), "weekday and date of its rows");
});
