import assert from "node:assert/strict";
import { test } from "node:test";
import { calibrate, calibrationIndex } from "./calibrate.ts";
import {
  type CasePosterior,
  type CustomerPosterior,
  kindShares,
  newCasePosterior,
  newCustomerPosterior,
} from "./case-posterior.ts";
import { buildForecast } from "./forecast.ts";
import { KIND_COUNT, KIND_CYCLE, KIND_NEVER, reasonRow } from "./hypotheses.ts";
import { type LearnedModel, newLearnedModel } from "./learned-model.ts";
import { type Reason, STANDINGS, WEIGHT_STARTS } from "./model-layout.ts";
import { PAY_CYCLES } from "./pay-cycles.ts";
import { IMMEDIATE } from "./settlement.ts";
import { countCustomer, learnCase, learnFirstCharge, learnRetry } from "./train.ts";

const UTC = { offsetMs: 0, booking: IMMEDIATE };
const DAY = 86_400_000;
const at = (time: string) => Date.parse(`${time}:00Z`);

function learnFailedRetry(
  model: LearnedModel,
  customer: CustomerPosterior,
  time: string,
  reason: Reason = "FUNDS",
): CasePosterior {
  const standing = STANDINGS.between;
  const facts = {
    reason,
    code: "51",
    standing,
    features: new Int32Array(0),
    codeFeature: WEIGHT_STARTS.name,
    rows: new Int32Array(0),
    clock: UTC,
    failedAt: at(time),
    recent: [],
  };
  const posterior = newCasePosterior(model, customer, facts);
  learnCase(model, posterior);
  return posterior;
}
const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);

test("probabilities of hypotheses and cycles stay valid whatever happens", () => {
  const model = newLearnedModel();
  const customer = newCustomerPosterior(model, "DE");
  countCustomer(model, customer);
  for (let month = 1; month <= 9; month++) {
    const posterior = learnFailedRetry(model, customer, `2026-0${month}-10T09:00`);
    for (const [days, reason] of [
      [2, "FUNDS"],
      [5, "GENERIC"],
      [9, "ISSUER_DOWN"],
      [14, null],
    ] as const)
      learnRetry(model, customer, posterior, posterior.firstFailedAt + days * DAY, reason);
    assert.ok(Math.abs(sum(posterior.shares) - 1) < 1e-9);
    assert.ok(Math.abs(sum(customer.cycles) - 1) < 1e-9);
  }
  assert.ok(model.mean.every(Number.isFinite) && model.variance.every((variance) => variance > 0));
  assert.ok(model.kinds.every((count) => count >= 0) && model.cycles.every((count) => count > 0));
});

test("a customer who can pay only from the 25th on is recognized, and expected to pay then", () => {
  const model = newLearnedModel();
  const customer = newCustomerPosterior(model, "SE");
  for (let month = 1; month <= 5; month++) {
    const posterior = learnFailedRetry(model, customer, `2026-0${month}-12T09:00`);
    for (const date of [16, 21]) learnRetry(model, customer, posterior, at(`2026-0${month}-${date}T09:00`), "FUNDS");
    learnRetry(model, customer, posterior, at(`2026-0${month}-26T09:00`), null);
  }
  const posterior = learnFailedRetry(model, customer, "2026-06-12T09:00");
  const slots = Array.from({ length: 27 }, (_, days) => posterior.firstFailedAt + (days + 1) * DAY);
  const { chances } = buildForecast(model, posterior, slots);
  const best = new Date(slots[chances.indexOf(Math.max(...chances))]!);
  assert.ok(best.getUTCDate() >= 25 && best.getUTCDate() <= 27, best.toISOString());
  assert.ok(chances[13]! > 2 * chances[5]!, `${chances[13]} against ${chances[5]}`);
  const likeliest = customer.cycles.indexOf(Math.max(...customer.cycles));
  assert.match(PAY_CYCLES[likeliest]!.words, /2[2-6]/);
});

test("a card that fails repeatedly is expected never to work, and one failure after an outage does not imply that", () => {
  const model = newLearnedModel();
  const customer = newCustomerPosterior(model, "US");
  const posterior = learnFailedRetry(model, customer, "2026-03-02T09:00", "GENERIC");
  const before = kindShares(posterior)[KIND_NEVER]!;
  for (const days of [4, 9, 14, 19])
    learnRetry(model, customer, posterior, posterior.firstFailedAt + days * DAY, "GENERIC");
  assert.ok(kindShares(posterior)[KIND_NEVER]! > 1.8 * before);
  const outage = learnFailedRetry(model, customer, "2026-03-02T09:00", "ISSUER_DOWN");
  learnRetry(model, customer, outage, outage.firstFailedAt + DAY / 8, "ISSUER_DOWN");
  assert.ok(kindShares(outage)[KIND_NEVER]! < 0.2);
});

test("a decline for missing money points to pay after an unspecific refusal", () => {
  const model = newLearnedModel();
  const customer = newCustomerPosterior(model, "US");
  const posterior = learnFailedRetry(model, customer, "2026-03-02T09:00", "GENERIC");
  const before = kindShares(posterior)[KIND_CYCLE]!;
  learnRetry(model, customer, posterior, posterior.firstFailedAt + 2 * DAY, "FUNDS");
  assert.ok(kindShares(posterior)[KIND_CYCLE]! > before);
  assert.equal(posterior.reason, "FUNDS");
});

test("one country's customers affect the expectation for the next customer there, and less elsewhere", () => {
  const model = newLearnedModel();
  const fifth = PAY_CYCLES.findIndex(({ words }) => words === "on the fifth working day of the month");
  const before = newCustomerPosterior(model, "BR").cycles[fifth]!;
  for (let n = 0; n < 40; n++) {
    const customer = newCustomerPosterior(model, "BR");
    countCustomer(model, customer);
    for (const [failedOn, paidOn] of [
      ["2026-03-28", "2026-04-08"],
      ["2026-04-28", "2026-05-08"],
      ["2026-05-28", "2026-06-08"],
    ] as const) {
      const posterior = learnFailedRetry(model, customer, `${failedOn}T09:00`);
      learnRetry(model, customer, posterior, at(`${failedOn}T09:00`) + 6 * DAY, "FUNDS");
      learnRetry(model, customer, posterior, at(`${paidOn}T12:00`), null);
    }
  }
  const there = newCustomerPosterior(model, "BR").cycles[fifth]!;
  assert.ok(there > 2 * before, `${there} against ${before}`);
  assert.ok(there > newCustomerPosterior(model, "JP").cycles[fifth]!);
});

test("pay at the end of the month is learned when all customers have it, and approvals on any day imply no weekly pay", () => {
  const model = newLearnedModel();
  const chanceOf = (pattern: RegExp) => {
    const { cycles } = newCustomerPosterior(model, "DE");
    return PAY_CYCLES.reduce((all, { words }, c) => all + (pattern.test(words) ? cycles[c]! : 0), 0);
  };
  const [weekly, monthEnd] = [/^on [A-Z]\w+days$/, /(end|last day|30th|1st) of the month$/];
  const before = [chanceOf(weekly), chanceOf(monthEnd)] as const;
  const none = new Int32Array(0);
  for (let n = 0; n < 400; n++) {
    const customer = newCustomerPosterior(model, "DE");
    for (let month = 0; month < 6; month++) {
      const billedAt = Date.UTC(2026, month, 2 + ((n * 7) % 26), 9);
      const isDeclined = month === n % 6;
      learnFirstCharge(model, customer, none, UTC, billedAt, isDeclined ? "FUNDS" : null);
      if (!isDeclined) continue;
      countCustomer(model, customer);
      const posterior = learnFailedRetry(model, customer, new Date(billedAt).toISOString().slice(0, 16));
      const paidAt = Date.UTC(2026, month + 1, 0);
      for (let learnRetries = 1; learnRetries <= 6; learnRetries++) {
        const triedAt = billedAt + learnRetries * 4.5 * DAY;
        const isApproved = triedAt > paidAt && triedAt < paidAt + 9 * DAY;
        learnRetry(model, customer, posterior, triedAt, isApproved ? null : "FUNDS");
        if (isApproved) break;
      }
    }
  }
  assert.ok(chanceOf(monthEnd) > 4 * before[1], `${chanceOf(monthEnd)} against ${before[1]}`);
  assert.ok(chanceOf(weekly) < before[0] / 3, `${chanceOf(weekly)} against ${before[0]}`);
});

test("the effect of time since pay is learned from first charges of customers who may run short, and hardly from others", () => {
  const taught = (ample: number) => {
    const model = newLearnedModel();
    const before = model.mean.slice(WEIGHT_STARTS.since, WEIGHT_STARTS.anyDay);
    const customer = { ...newCustomerPosterior(model, "SE"), ample };
    for (let n = 0; n < 20; n++) {
      customer.ample = ample;
      learnFirstCharge(model, customer, new Int32Array(0), UTC, at("2026-03-20T09:00"), "FUNDS");
    }
    return sum(
      model.mean.slice(WEIGHT_STARTS.since, WEIGHT_STARTS.anyDay).map((mean, n) => Math.abs(mean - before[n]!)),
    );
  };
  assert.ok(taught(0.1) > 1.1 * taught(0.999), `${taught(0.1)} against ${taught(0.999)}`);
});

test("a customer who pays every invoice at once is expected never to run short, until a decline for missing money", () => {
  const model = newLearnedModel();
  const customer = newCustomerPosterior(model, "SE");
  const first = (month: number, reason: Reason | null) =>
    learnFirstCharge(model, customer, new Int32Array(0), UTC, at(`2026-0${month}-20T09:00`), reason);
  const usual = customer.ample;
  for (let month = 1; month <= 6; month++) first(month, null);
  assert.ok(customer.ample > usual, `${customer.ample}`);
  first(7, "FUNDS");
  first(8, "FUNDS");
  assert.ok(customer.ample < 0.2, `${customer.ample}`);
  for (let n = 0; n < 50; n++) first(9, "FUNDS");
  assert.ok(customer.ample >= 0.002, "however often it was short, it may be never short from now on");
});

test("the time until money is spent is learned separately for customers who often run short", () => {
  const model = newLearnedModel();
  const chanceFor = (standing: number) => {
    const facts = {
      reason: "FUNDS" as const,
      code: "51",
      standing,
      features: new Int32Array(0),
      codeFeature: WEIGHT_STARTS.name,
      rows: new Int32Array(0),
      clock: UTC,
      recent: [],
    };
    const posterior = newCasePosterior(model, newCustomerPosterior(model, "SE"), {
      ...facts,
      failedAt: at("2026-06-12T09:00"),
    });
    return buildForecast(model, posterior, [at("2026-06-15T09:00")]).chances[0]!;
  };
  for (let n = 0; n < 60; n++) {
    const customer = newCustomerPosterior(model, "SE");
    const standing = n % 2 === 0 ? STANDINGS.bad : STANDINGS.good;
    const facts = {
      reason: "FUNDS" as const,
      code: "51",
      features: new Int32Array(0),
      codeFeature: WEIGHT_STARTS.name,
      rows: new Int32Array(0),
      clock: UTC,
      recent: [],
    };
    const failedAt = at("2026-03-12T09:00");
    const posterior = newCasePosterior(model, customer, { ...facts, standing, failedAt });
    learnRetry(model, customer, posterior, failedAt + 3 * DAY, standing === STANDINGS.bad ? "FUNDS" : null);
  }
  const [good, bad] = [chanceFor(STANDINGS.good), chanceFor(STANDINGS.bad)];
  assert.ok(bad < 0.95 * good, `${bad} against ${good}`);
});

test("new cases do not change the usual shares of kinds, since features carry their own effect", () => {
  const model = newLearnedModel();
  const names = Int32Array.from({ length: 30 }, (_, n) => WEIGHT_STARTS.name + n);
  for (let n = 0; n < names.length; n++) model.shifts[4 * n] = 0.1;
  const facts = {
    reason: "FUNDS" as const,
    code: "51",
    standing: STANDINGS.between,
    features: names,
    codeFeature: WEIGHT_STARTS.name,
    rows: new Int32Array(0),
    clock: UTC,
    failedAt: at("2026-03-12T09:00"),
    recent: [],
  };
  const begun = () => newCasePosterior(model, newCustomerPosterior(model, "SE"), facts);
  const shareOfCycle = (row: number) =>
    model.kinds[row + KIND_CYCLE]! / sum(model.kinds.subarray(row, row + KIND_COUNT));
  const before = shareOfCycle(reasonRow("FUNDS"));
  const believed = kindShares(begun())[KIND_CYCLE]!;
  assert.ok(believed > before + 0.1);
  for (let n = 0; n < 5000; n++) learnCase(model, begun());
  for (const row of [reasonRow("FUNDS"), begun().codeRow!])
    assert.ok(Math.abs(shareOfCycle(row) - before) < 0.01, `${shareOfCycle(row)}, and ${before} before`);
  assert.ok(Math.abs(kindShares(begun())[KIND_CYCLE]! - believed) < 0.01);
});

test("the approval rate is that of about the latest thousand retries", () => {
  const model = newLearnedModel();
  const learnRetries = (count: number, approvedOf: (n: number) => boolean) => {
    for (let n = 0; n < count; n++) {
      const customer = newCustomerPosterior(model, "SE");
      const posterior = learnFailedRetry(model, customer, "2026-03-12T09:00");
      learnRetry(model, customer, posterior, posterior.firstFailedAt + 3 * DAY, approvedOf(n) ? null : "FUNDS");
    }
    return model.tries[0]!;
  };
  assert.ok(learnRetries(20, () => true) < 0.7, "a few tries do not say much");
  const quarter = learnRetries(3000, (n) => n % 4 === 0);
  assert.ok(Math.abs(quarter - 0.25) < 0.04, `${quarter}`);
  assert.ok(learnRetries(3000, () => false) < 0.02);
});

test("later retries correct only the probabilities of later ones", () => {
  const model = newLearnedModel();
  const posterior = learnFailedRetry(model, newCustomerPosterior(model, "DE"), "2026-06-12T09:00", "LIMIT");
  const first = calibrationIndex(posterior);
  learnRetry(model, newCustomerPosterior(model, "DE"), posterior, posterior.firstFailedAt + DAY, "LIMIT");
  const later = calibrationIndex(posterior);
  const corrected = (classIndex: number) => calibrate(model, classIndex, 0.5);
  const afterFirst = corrected(first);
  assert.ok(afterFirst < 0.4999, `${afterFirst}`);
  assert.ok(Math.abs(corrected(later) - 0.5) < 1e-4, `${corrected(later)}`);
  learnRetry(model, newCustomerPosterior(model, "DE"), posterior, posterior.firstFailedAt + 3 * DAY, "LIMIT");
  assert.equal(calibrationIndex(posterior), later);
  assert.equal(corrected(first), afterFirst);
  assert.ok(corrected(later) < 0.4999, `${corrected(later)}`);
});
