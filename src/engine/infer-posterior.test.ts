import assert from "node:assert/strict";
import { test } from "node:test";
import { buildHistory, codes, DAY, failedCharge, HOUR, newModel, paidCharge } from "./infer-posterior.fixture.ts";
import { type CustomerHistory, inferPosterior, type PastCharge } from "./infer-posterior.ts";
import { buildForecast } from "./learned/forecast.ts";
import { newLearnedModel } from "./learned/learned-model.ts";
import {
  COLUMN_EDGES,
  dateCellWeight,
  MAX_WEEK_ATTEMPTS,
  otherInvoiceWeight,
  rowStart,
} from "./learned/model-layout.ts";
import { PAY_CYCLES } from "./learned/pay-cycles.ts";
import { likeliestSettlement, settlementDay } from "./learned/settlement.ts";

/** Returns how much was approved and how much failed around a date, in steps. */
const stepsAt = (history: CustomerHistory, date: number) => {
  const cell = inferPosterior(newModel, history).posterior.dateCells[date - 1]!;
  return [Math.floor(cell / 5), cell % 5];
};

test("bank debits are recalled by the days on which they were booked", () => {
  const model = newLearnedModel();
  const debits = buildHistory(
    [[paidCharge("2026-02-06T15:00")], [failedCharge("2026-03-12T15:00")]],
    0,
    null,
    "sepa_debit",
  );
  const clock = inferPosterior(model, debits).posterior.clock;
  const dateOf = (history: CustomerHistory) =>
    new Date(settlementDay(inferPosterior(model, history).posterior.clock, +history.invoices[0]!.charges[0]!.at) * DAY);
  assert.deepEqual([clock.booking, clock.offsetMs], [likeliestSettlement(model, "sepa_debit"), 0]);
  assert.equal(
    dateOf(debits).toISOString().slice(0, 10),
    "2026-02-10",
    "after the cut-off of a Friday: two business days",
  );
  assert.equal(
    dateOf(buildHistory([[paidCharge("2026-02-06T15:00")], [failedCharge("2026-03-12T15:00")]])).getUTCDate(),
    6,
  );
  const tried = buildHistory(
    [[failedCharge("2026-02-04T15:00"), paidCharge("2026-02-06T15:00")], [failedCharge("2026-03-12T15:00")]],
    0,
    null,
    "sepa_debit",
  );
  assert.equal(inferPosterior(model, tried).customer.charges[1]!.date, 10, "tries as first charges");
  const card: CustomerHistory = {
    ...debits,
    invoices: debits.invoices.map((invoice, n) => (n === 0 ? { ...invoice, paymentMethodType: "card" } : invoice)),
  };
  assert.equal(inferPosterior(model, card).customer.charges[0]!.date, 6, "what a card paid was judged at once");
  const unsaid: CustomerHistory = {
    ...debits,
    invoices: debits.invoices.map((invoice, n) => (n === 0 ? { ...invoice, paymentMethodType: null } : invoice)),
  };
  assert.equal(
    inferPosterior(model, unsaid).customer.charges[0]!.date,
    6,
    "the moment of an answer is no moment of asking",
  );
  const goodOn = (history: CustomerHistory, date: number) =>
    inferPosterior(model, history).posterior.dateCells[date - 1]! >= 5;
  assert.deepEqual([goodOn(debits, 10), goodOn(debits, 4)], [true, false]);
});

test("date outcomes contain first charges and retries, by the customer's local dates", () => {
  const invoices = [
    [failedCharge("2026-03-09T20:00"), failedCharge("2026-03-14T20:00"), paidCharge("2026-03-19T20:00")],
    [failedCharge("2026-04-09T20:00")],
  ];
  const local = buildHistory(invoices, 10 * HOUR);
  const there = [10, 15, 20].map((date) => stepsAt(local, date));
  assert.deepEqual(there, [
    [0, 3],
    [0, 2],
    [2, 0],
  ]);
  assert.notDeepEqual(
    [10, 15, 20].map((date) => stepsAt(buildHistory(invoices), date)),
    there,
  );
});

test("a retry uses its date in the customer's time zone", () => {
  const { posterior } = inferPosterior(newModel, buildHistory([[failedCharge("2026-04-09T20:00")]], 10 * HOUR));
  const [eighth, ninth] = [7, 8].map((n) => posterior.dateCells[n]!);
  assert.notEqual(eighth, ninth);
  const tuned = newLearnedModel();
  const chance = () => buildForecast(tuned, posterior, [Date.parse("2026-05-08T20:00:00Z")]).chances[0]!;
  const before = chance();
  tuned.mean[dateCellWeight(1, eighth!)] = 1;
  assert.equal(chance(), before);
  tuned.mean[dateCellWeight(1, ninth!)] = 1;
  assert.ok(chance() > before + 0.05);
});

test("a case's date outcomes contain nothing from other invoices after its start", () => {
  const open = failedCharge("2026-04-28T09:00");
  const alone = inferPosterior(newModel, buildHistory([[open]])).posterior.dateCells;
  const beside = buildHistory([
    [failedCharge("2026-05-10T09:00"), failedCharge("2026-05-12T09:00"), paidCharge("2026-05-14T09:00")],
    [open],
  ]);
  assert.deepEqual(inferPosterior(newModel, beside).posterior.dateCells, alone);
});

test("another invoice's outcome since the last retry counts for the next one, until that is made", () => {
  const taught = newLearnedModel();
  taught.mean[otherInvoiceWeight(true, 4 * HOUR)] = 1;
  taught.mean[otherInvoiceWeight(false, 4 * HOUR)] = -1;
  const open = failedCharge("2026-04-28T09:00");
  const other = (charge: PastCharge) => buildHistory([[charge], [open]]);
  const chances = (history: CustomerHistory) =>
    [newModel, taught].map(
      (model) =>
        buildForecast(model, inferPosterior(model, history).posterior, [Date.parse("2026-05-02T13:00Z")]).chances[0]!,
    ) as [number, number];
  const [plain, soonAfter] = chances(other(paidCharge("2026-05-02T09:00")));
  assert.ok(soonAfter > plain + 0.1, `${soonAfter} for ${plain}`);
  const [before, afterDecline] = chances(other(failedCharge("2026-05-02T09:00")));
  assert.ok(afterDecline < before - 0.05, `${afterDecline} for ${before}`);
  const [alone, same] = chances(buildHistory([[open]]));
  assert.equal(same, alone);
  const beside = (history: CustomerHistory) => inferPosterior(taught, history).posterior.otherCharge;
  assert.deepEqual(beside(other(paidCharge("2026-05-02T09:00"))), {
    at: Date.parse("2026-05-02T09:00Z"),
    approved: true,
    count: 1,
  });
  assert.equal(beside(other(paidCharge("2026-04-27T09:00"))), null, "before the case began");
  const tried = buildHistory([[paidCharge("2026-05-02T09:00")], [open, failedCharge("2026-05-03T09:00")]]);
  assert.equal(beside(tried), null, "before the last try");
  const lost: PastCharge = { ...failedCharge("2026-05-02T09:00"), codes: { ...codes, networkDeclineCode: "41" } };
  assert.equal(beside(other(lost)), null, "a lost card says nothing of the account");
});

test("a later retry of a plan ignores another invoice's charge, since the retry before it will say more", () => {
  const taught = newLearnedModel();
  taught.mean[otherInvoiceWeight(true, 4 * HOUR)] = 1;
  const history = buildHistory([[paidCharge("2026-05-02T09:00")], [failedCharge("2026-04-28T09:00")]]);
  const [plain, same] = [newModel, taught].map((model) => {
    const { posterior } = inferPosterior(model, history);
    const { laterChances, computeLaterChances } = buildForecast(model, posterior, [Date.parse("2026-05-02T13:00Z")]);
    computeLaterChances([0]);
    return Array.from(laterChances);
  });
  assert.ok(plain!.length > 20);
  for (const [n, chance] of plain!.entries()) assert.ok(Math.abs(same![n]! - chance) < 1e-9);
});

test("the first eight charges of other invoices between two retries count", () => {
  const hours = Array.from({ length: 12 }, (_, n) => paidCharge(`2026-05-02T${String(n).padStart(2, "0")}:00`));
  const others = hours.map((charge) => [charge]);
  const open = [failedCharge("2026-04-28T09:00")];
  const { otherCharge } = inferPosterior(newModel, buildHistory([...others, open])).posterior;
  assert.deepEqual(otherCharge, { at: Date.parse("2026-05-02T07:00Z"), approved: true, count: 8 });
  const tried = [...open, failedCharge("2026-05-02T09:30")];
  assert.equal(
    inferPosterior(newModel, buildHistory([...others, tried])).posterior.otherCharge!.count,
    2,
    "anew after each try",
  );
});

test("an earlier invoice's retries are replayed in time order, between those of the open case", () => {
  const earlier = [failedCharge("2026-04-20T09:00"), failedCharge("2026-05-01T09:00"), paidCharge("2026-05-04T09:00")];
  const { posterior, customer } = inferPosterior(
    newModel,
    buildHistory([earlier, [failedCharge("2026-04-28T09:00"), failedCharge("2026-05-02T09:00")]]),
  );
  assert.deepEqual(posterior.otherCharge, { at: Date.parse("2026-05-04T09:00Z"), approved: true, count: 1 });
  assert.deepEqual(
    customer.charges.map(({ at }) => new Date(at).toISOString().slice(5, 10)),
    ["04-20", "04-28", "05-01", "05-02", "05-04"],
  );
  assert.equal(posterior.recent.length, 4, "tries of a week, on either bill");
});

test("a week's attempts are kept only up to the number that affects the model, however many there were", () => {
  const each = Array.from({ length: 40 }, (_, n) =>
    failedCharge(`2026-04-${28 + (n >> 5)}T${String(n % 24).padStart(2, "0")}:00`),
  );
  const storm = each.toSorted((one, other) => +one.at - +other.at);
  const { posterior } = inferPosterior(
    newModel,
    buildHistory([storm, storm.slice(1), [failedCharge("2026-04-28T09:30")]]),
  );
  assert.deepEqual(
    posterior.recent,
    storm
      .slice(-3)
      .flatMap(({ at }) => [+at, +at])
      .slice(-MAX_WEEK_ATTEMPTS),
  );
});

test("another invoice also shows the open case how the customer is paid", () => {
  const shareOf = (held: "shares" | "cyclesBefore", words: string, history: CustomerHistory) =>
    inferPosterior(newModel, history).posterior[held][PAY_CYCLES.findIndex((cycle) => cycle.words === words)]!;
  const open = failedCharge("2026-04-12T09:00");
  const other = [failedCharge("2026-04-20T09:00"), failedCharge("2026-04-24T09:00"), paidCharge("2026-04-29T09:00")];
  for (const held of ["shares", "cyclesBefore"] as const) {
    const moved = (words: string) =>
      shareOf(held, words, buildHistory([other, [open]])) / shareOf(held, words, buildHistory([[open]]));
    assert.ok(moved("around the 28th of the month") > 1.1, "pay came before it was paid");
    assert.ok(moved("around the 15th of the month") < 0.95, "pay had come when it was declined");
  }
});

test("an uncharged new card is no decline among the customer's other invoices", () => {
  const taught = newLearnedModel();
  taught.mean[otherInvoiceWeight(false, 4 * HOUR)] = -2;
  const other = [failedCharge("2026-04-20T09:00"), paidCharge("2026-05-04T13:00")];
  const card: PastCharge = { ...failedCharge("2026-05-04T09:00"), codes: null, isPresumed: true };
  const cyclesBy = (model: typeof taught) => inferPosterior(model, buildHistory([other, [card]])).customer.cycles;
  assert.deepEqual(cyclesBy(taught), cyclesBy(newModel));
});

test("an uncharged new card says nothing about the customer", () => {
  const at = new Date("2026-04-28T09:00:00Z");
  const { customer, posterior } = inferPosterior(
    newModel,
    buildHistory([[{ at, approved: false, codes: null, isPresumed: true }]]),
  );
  const stranger = inferPosterior(newModel, buildHistory([[{ at, approved: false, codes: null }]])).customer;
  assert.deepEqual(customer.charges, []);
  assert.deepEqual(new Set(posterior.dateCells), new Set([0]));
  assert.ok(stranger.charges.length === 1 && stranger.ample < customer.ample);
});

/** Offset of the weekday weights in a row. */
const WEEKDAYS = COLUMN_EDGES[1]!;

test("each payment method has its own weekdays, and each class of reasons its own date outcomes", () => {
  const tuned = newLearnedModel();
  tuned.mean[rowStart("pay", "credit:card") + WEEKDAYS + 1] = 1;
  tuned.mean[rowStart("pay", "debit:card") + WEEKDAYS + 2] = 1;
  const days = ["2026-05-04", "2026-05-05"].map((day) => Date.parse(`${day}T12:00:00Z`)); // Monday and Tuesday
  const open = [failedCharge("2026-04-28T09:00")];
  const posteriorOf = (funding: string, model = tuned) =>
    buildForecast(model, inferPosterior(model, buildHistory([open], 0, funding)).posterior, days).chances;
  const plain = posteriorOf("debit", newModel);
  const [credit, debit] = [posteriorOf("credit"), posteriorOf("debit")];
  assert.ok(credit[0]! > plain[0]! + 0.05 && debit[1]! > plain[1]! + 0.05, `${[...credit]}, ${[...debit]}`);
  assert.ok(Math.abs(credit[1]! - plain[1]!) < 1e-9 && Math.abs(debit[0]! - plain[0]!) < 1e-9);

  const cell = inferPosterior(newModel, buildHistory([open])).posterior.dateCells[3]!;
  const dated = newLearnedModel();
  dated.mean[dateCellWeight(2, cell)] = 1;
  assert.deepEqual(posteriorOf("debit", dated), plain);
  dated.mean[dateCellWeight(1, cell)] = 1; // not enough money
  assert.ok(posteriorOf("debit", dated)[0]! > plain[0]! + 0.05);
});
