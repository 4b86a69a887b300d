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
const at = (moment: string) => Date.parse(`${moment}:00Z`);

function learnFailedRetry(
  learned: LearnedModel,
  person: CustomerPosterior,
  moment: string,
  reason: Reason = "FUNDS",
): CasePosterior {
  const standing = STANDINGS.between;
  const facts = {
    reason,
    code: "51",
    standing,
    names: new Int32Array(0),
    codeName: WEIGHT_STARTS.name,
    rows: new Int32Array(0),
    clock: UTC,
    failedAt: at(moment),
    recent: [],
  };
  const belief = newCasePosterior(learned, person, facts);
  learnCase(learned, belief);
  return belief;
}
const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);

test("probabilities of hypotheses and cycles stay valid whatever happens", () => {
  const learned = newLearnedModel();
  const person = newCustomerPosterior(learned, "DE");
  countCustomer(learned, person);
  for (let month = 1; month <= 9; month++) {
    const belief = learnFailedRetry(learned, person, `2026-0${month}-10T09:00`);
    for (const [days, reason] of [
      [2, "FUNDS"],
      [5, "GENERIC"],
      [9, "ISSUER_DOWN"],
      [14, null],
    ] as const)
      learnRetry(learned, person, belief, belief.firstFailedAt + days * DAY, reason);
    assert.ok(Math.abs(sum(belief.shares) - 1) < 1e-9);
    assert.ok(Math.abs(sum(person.cycles) - 1) < 1e-9);
  }
  assert.ok(learned.mean.every(Number.isFinite) && learned.variance.every((variance) => variance > 0));
  assert.ok(learned.kinds.every((count) => count >= 0) && learned.cycles.every((count) => count > 0));
});

test("a customer who can pay only from the 25th on is recognized, and expected to pay then", () => {
  const learned = newLearnedModel();
  const person = newCustomerPosterior(learned, "SE");
  for (let month = 1; month <= 5; month++) {
    const belief = learnFailedRetry(learned, person, `2026-0${month}-12T09:00`);
    for (const date of [16, 21]) learnRetry(learned, person, belief, at(`2026-0${month}-${date}T09:00`), "FUNDS");
    learnRetry(learned, person, belief, at(`2026-0${month}-26T09:00`), null);
  }
  const belief = learnFailedRetry(learned, person, "2026-06-12T09:00");
  const slots = Array.from({ length: 27 }, (_, days) => belief.firstFailedAt + (days + 1) * DAY);
  const { chances } = buildForecast(learned, belief, slots);
  const best = new Date(slots[chances.indexOf(Math.max(...chances))]!);
  assert.ok(best.getUTCDate() >= 25 && best.getUTCDate() <= 27, best.toISOString());
  assert.ok(chances[13]! > 2 * chances[5]!, `${chances[13]} against ${chances[5]}`);
  const likeliest = person.cycles.indexOf(Math.max(...person.cycles));
  assert.match(PAY_CYCLES[likeliest]!.words, /2[2-6]/);
});

test("a card that fails repeatedly is expected never to work, and one failure after an outage does not imply that", () => {
  const learned = newLearnedModel();
  const person = newCustomerPosterior(learned, "US");
  const belief = learnFailedRetry(learned, person, "2026-03-02T09:00", "GENERIC");
  const before = kindShares(belief)[KIND_NEVER]!;
  for (const days of [4, 9, 14, 19]) learnRetry(learned, person, belief, belief.firstFailedAt + days * DAY, "GENERIC");
  assert.ok(kindShares(belief)[KIND_NEVER]! > 1.8 * before);
  const outage = learnFailedRetry(learned, person, "2026-03-02T09:00", "ISSUER_DOWN");
  learnRetry(learned, person, outage, outage.firstFailedAt + DAY / 8, "ISSUER_DOWN");
  assert.ok(kindShares(outage)[KIND_NEVER]! < 0.2);
});

test("a decline for missing money points to pay after an unspecific refusal", () => {
  const learned = newLearnedModel();
  const person = newCustomerPosterior(learned, "US");
  const belief = learnFailedRetry(learned, person, "2026-03-02T09:00", "GENERIC");
  const before = kindShares(belief)[KIND_CYCLE]!;
  learnRetry(learned, person, belief, belief.firstFailedAt + 2 * DAY, "FUNDS");
  assert.ok(kindShares(belief)[KIND_CYCLE]! > before);
  assert.equal(belief.reason, "FUNDS");
});

test("one country's customers affect the expectation for the next customer there, and less elsewhere", () => {
  const learned = newLearnedModel();
  const fifth = PAY_CYCLES.findIndex(({ words }) => words === "on the fifth working day of the month");
  const before = newCustomerPosterior(learned, "BR").cycles[fifth]!;
  for (let n = 0; n < 40; n++) {
    const person = newCustomerPosterior(learned, "BR");
    countCustomer(learned, person);
    for (const [failedOn, paidOn] of [
      ["2026-03-28", "2026-04-08"],
      ["2026-04-28", "2026-05-08"],
      ["2026-05-28", "2026-06-08"],
    ] as const) {
      const belief = learnFailedRetry(learned, person, `${failedOn}T09:00`);
      learnRetry(learned, person, belief, at(`${failedOn}T09:00`) + 6 * DAY, "FUNDS");
      learnRetry(learned, person, belief, at(`${paidOn}T12:00`), null);
    }
  }
  const there = newCustomerPosterior(learned, "BR").cycles[fifth]!;
  assert.ok(there > 2 * before, `${there} against ${before}`);
  assert.ok(there > newCustomerPosterior(learned, "JP").cycles[fifth]!);
});

test("pay at the end of the month is learned when all customers have it, and approvals on any day imply no weekly pay", () => {
  const learned = newLearnedModel();
  const chanceOf = (pattern: RegExp) => {
    const { cycles } = newCustomerPosterior(learned, "DE");
    return PAY_CYCLES.reduce((all, { words }, c) => all + (pattern.test(words) ? cycles[c]! : 0), 0);
  };
  const [weekly, monthEnd] = [/^on [A-Z]\w+days$/, /(end|last day|30th|1st) of the month$/];
  const before = [chanceOf(weekly), chanceOf(monthEnd)] as const;
  const none = new Int32Array(0);
  for (let n = 0; n < 400; n++) {
    const person = newCustomerPosterior(learned, "DE");
    for (let month = 0; month < 6; month++) {
      const billedAt = Date.UTC(2026, month, 2 + ((n * 7) % 26), 9);
      const isDeclined = month === n % 6;
      learnFirstCharge(learned, person, none, UTC, billedAt, isDeclined ? "FUNDS" : null);
      if (!isDeclined) continue;
      countCustomer(learned, person);
      const belief = learnFailedRetry(learned, person, new Date(billedAt).toISOString().slice(0, 16));
      const paidAt = Date.UTC(2026, month + 1, 0);
      for (let tries = 1; tries <= 6; tries++) {
        const triedAt = billedAt + tries * 4.5 * DAY;
        const isApproved = triedAt > paidAt && triedAt < paidAt + 9 * DAY;
        learnRetry(learned, person, belief, triedAt, isApproved ? null : "FUNDS");
        if (isApproved) break;
      }
    }
  }
  assert.ok(chanceOf(monthEnd) > 4 * before[1], `${chanceOf(monthEnd)} against ${before[1]}`);
  assert.ok(chanceOf(weekly) < before[0] / 3, `${chanceOf(weekly)} against ${before[0]}`);
});

test("the effect of time since pay is learned from first charges of customers who may run short, and hardly from others", () => {
  const taught = (ample: number) => {
    const learned = newLearnedModel();
    const before = learned.mean.slice(WEIGHT_STARTS.since, WEIGHT_STARTS.anyDay);
    const person = { ...newCustomerPosterior(learned, "SE"), ample };
    for (let n = 0; n < 20; n++) {
      person.ample = ample;
      learnFirstCharge(learned, person, new Int32Array(0), UTC, at("2026-03-20T09:00"), "FUNDS");
    }
    return sum(
      learned.mean.slice(WEIGHT_STARTS.since, WEIGHT_STARTS.anyDay).map((mean, n) => Math.abs(mean - before[n]!)),
    );
  };
  assert.ok(taught(0.1) > 1.1 * taught(0.999), `${taught(0.1)} against ${taught(0.999)}`);
});

test("a customer who pays every invoice at once is expected never to run short, until a decline for missing money", () => {
  const learned = newLearnedModel();
  const person = newCustomerPosterior(learned, "SE");
  const first = (month: number, reason: Reason | null) =>
    learnFirstCharge(learned, person, new Int32Array(0), UTC, at(`2026-0${month}-20T09:00`), reason);
  const usual = person.ample;
  for (let month = 1; month <= 6; month++) first(month, null);
  assert.ok(person.ample > usual, `${person.ample}`);
  first(7, "FUNDS");
  first(8, "FUNDS");
  assert.ok(person.ample < 0.2, `${person.ample}`);
  for (let n = 0; n < 50; n++) first(9, "FUNDS");
  assert.ok(person.ample >= 0.002, "however often it was short, it may be never short from now on");
});

test("the time until money is spent is learned separately for customers who often run short", () => {
  const learned = newLearnedModel();
  const chanceFor = (standing: number) => {
    const facts = {
      reason: "FUNDS" as const,
      code: "51",
      standing,
      names: new Int32Array(0),
      codeName: WEIGHT_STARTS.name,
      rows: new Int32Array(0),
      clock: UTC,
      recent: [],
    };
    const belief = newCasePosterior(learned, newCustomerPosterior(learned, "SE"), {
      ...facts,
      failedAt: at("2026-06-12T09:00"),
    });
    return buildForecast(learned, belief, [at("2026-06-15T09:00")]).chances[0]!;
  };
  for (let n = 0; n < 60; n++) {
    const person = newCustomerPosterior(learned, "SE");
    const standing = n % 2 === 0 ? STANDINGS.bad : STANDINGS.good;
    const facts = {
      reason: "FUNDS" as const,
      code: "51",
      names: new Int32Array(0),
      codeName: WEIGHT_STARTS.name,
      rows: new Int32Array(0),
      clock: UTC,
      recent: [],
    };
    const failedAt = at("2026-03-12T09:00");
    const belief = newCasePosterior(learned, person, { ...facts, standing, failedAt });
    learnRetry(learned, person, belief, failedAt + 3 * DAY, standing === STANDINGS.bad ? "FUNDS" : null);
  }
  const [good, bad] = [chanceFor(STANDINGS.good), chanceFor(STANDINGS.bad)];
  assert.ok(bad < 0.95 * good, `${bad} against ${good}`);
});

test("new cases do not change the usual shares of kinds, since features carry their own effect", () => {
  const learned = newLearnedModel();
  const names = Int32Array.from({ length: 30 }, (_, n) => WEIGHT_STARTS.name + n);
  for (let n = 0; n < names.length; n++) learned.shifts[4 * n] = 0.1;
  const facts = {
    reason: "FUNDS" as const,
    code: "51",
    standing: STANDINGS.between,
    names,
    codeName: WEIGHT_STARTS.name,
    rows: new Int32Array(0),
    clock: UTC,
    failedAt: at("2026-03-12T09:00"),
    recent: [],
  };
  const begun = () => newCasePosterior(learned, newCustomerPosterior(learned, "SE"), facts);
  const shareOfCycle = (row: number) =>
    learned.kinds[row + KIND_CYCLE]! / sum(learned.kinds.subarray(row, row + KIND_COUNT));
  const before = shareOfCycle(reasonRow("FUNDS"));
  const believed = kindShares(begun())[KIND_CYCLE]!;
  assert.ok(believed > before + 0.1);
  for (let n = 0; n < 5000; n++) learnCase(learned, begun());
  for (const row of [reasonRow("FUNDS"), begun().codeRow!])
    assert.ok(Math.abs(shareOfCycle(row) - before) < 0.01, `${shareOfCycle(row)}, and ${before} before`);
  assert.ok(Math.abs(kindShares(begun())[KIND_CYCLE]! - believed) < 0.01);
});

test("the approval rate is that of about the latest thousand retries", () => {
  const learned = newLearnedModel();
  const tries = (count: number, approvedOf: (n: number) => boolean) => {
    for (let n = 0; n < count; n++) {
      const person = newCustomerPosterior(learned, "SE");
      const belief = learnFailedRetry(learned, person, "2026-03-12T09:00");
      learnRetry(learned, person, belief, belief.firstFailedAt + 3 * DAY, approvedOf(n) ? null : "FUNDS");
    }
    return learned.tries[0]!;
  };
  assert.ok(tries(20, () => true) < 0.7, "a few tries do not say much");
  const quarter = tries(3000, (n) => n % 4 === 0);
  assert.ok(Math.abs(quarter - 0.25) < 0.04, `${quarter}`);
  assert.ok(tries(3000, () => false) < 0.02);
});

test("later retries correct only the probabilities of later ones", () => {
  const learned = newLearnedModel();
  const belief = learnFailedRetry(learned, newCustomerPosterior(learned, "DE"), "2026-06-12T09:00", "LIMIT");
  const first = calibrationIndex(belief);
  learnRetry(learned, newCustomerPosterior(learned, "DE"), belief, belief.firstFailedAt + DAY, "LIMIT");
  const later = calibrationIndex(belief);
  const corrected = (of: number) => calibrate(learned, of, 0.5);
  const afterFirst = corrected(first);
  assert.ok(afterFirst < 0.4999, `${afterFirst}`);
  assert.ok(Math.abs(corrected(later) - 0.5) < 1e-4, `${corrected(later)}`);
  learnRetry(learned, newCustomerPosterior(learned, "DE"), belief, belief.firstFailedAt + 3 * DAY, "LIMIT");
  assert.equal(calibrationIndex(belief), later);
  assert.equal(corrected(first), afterFirst);
  assert.ok(corrected(later) < 0.4999, `${corrected(later)}`);
});
