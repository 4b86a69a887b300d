import assert from "node:assert/strict";
import { test } from "node:test";
import { newCasePosterior, newCustomerPosterior } from "./case-posterior.ts";
import { computeDateCells, DATE_CELL_COUNT, type DatedCharge, recordCharge } from "./date-outcomes.ts";
import { buildForecast } from "./forecast.ts";
import { newLearnedModel } from "./learned-model.ts";
import { STANDINGS, WEIGHT_STARTS } from "./model-layout.ts";
import { IMMEDIATE } from "./settlement.ts";
import { learnCase, learnRetry } from "./train.ts";

const UTC = { offsetMs: 0, booking: IMMEDIATE };
const DAY = 86_400_000;
const at = (date: string) => Date.parse(`${date}T12:00:00Z`);
const recordAt = (dates: DatedCharge[], date: string, reason: Parameters<typeof recordCharge>[3]) =>
  recordCharge(dates, at(date) / DAY - 0.5, at(date), reason);
/** Returns how much was approved and how much failed around each date, in steps. */
const stepsOf = (dates: DatedCharge[], now: string) =>
  Array.from(computeDateCells(dates, at(now)), (cell) => [Math.floor(cell / 5), cell % 5] as const);

test("dates make no difference for a customer who was never charged", () => {
  const cells = computeDateCells([], at("2026-03-01"));
  assert.deepEqual(new Set(cells), new Set([0]));
  assert.equal(cells.length, 31);
});

test("approvals and failures count for neighboring dates, also across the end of a month, and for no others", () => {
  const dates: DatedCharge[] = [];
  for (const month of ["01", "02", "03"]) {
    recordAt(dates, `2026-${month}-01`, null);
    recordAt(dates, `2026-${month}-15`, "FUNDS");
  }
  const steps = stepsOf(dates, "2026-03-20");
  const good = steps.map(([approved]) => approved);
  const bad = steps.map(([, failed]) => failed);
  assert.ok(good[0]! >= 3 && good[30]! >= 2 && good[14] === 0, good.join());
  assert.ok(bad[14]! >= 3 && bad[13]! >= 2 && bad[0] === 0 && bad[30] === 0, bad.join());
  assert.ok(computeDateCells(dates, at("2026-03-20")).every((cell) => cell < DATE_CELL_COUNT));
});

test("an old charge counts for little", () => {
  const dates: DatedCharge[] = [];
  recordAt(dates, "2024-03-10", null);
  assert.equal(stepsOf(dates, "2024-03-11")[9]![0], 2);
  assert.equal(stepsOf(dates, "2026-03-11")[9]![0], 0);
  recordAt(dates, "2026-03-10", "LIMIT");
  assert.deepEqual(stepsOf(dates, "2026-03-11")[9], [0, 2]);
});

test("charges after the time in question, and all but the latest two dozen, do not count", () => {
  const dates: DatedCharge[] = [];
  recordAt(dates, "2026-03-10", null);
  recordAt(dates, "2199-03-20", null);
  assert.deepEqual(
    [9, 19].map((date) => stepsOf(dates, "2026-03-11")[date]![0]),
    [2, 0],
  );
  for (let n = 0; n < 24; n++) recordAt(dates, "2026-03-25", "FUNDS");
  assert.deepEqual(
    [9, 24].map((date) => stepsOf(dates, "2026-03-26")[date]),
    [
      [0, 0],
      [0, 4],
    ],
  );
});

test("a lost card, or a bank that is down, says nothing about a date", () => {
  const dates: DatedCharge[] = [];
  recordAt(dates, "2026-03-10", "HARD_CARD");
  recordAt(dates, "2026-03-10", "ISSUER_DOWN");
  assert.deepEqual(dates, []);
});

test("the next good date is likelier when approvals came only on the customer's good dates", () => {
  const model = newLearnedModel();
  const facts = { reason: "UNKNOWN" as const, code: null, standing: STANDINGS.between, clock: UTC, recent: [] };
  const names = new Int32Array(0);
  /** Opens a case of a customer whose January and February charges were approved around one date and failed around another. */
  const open = (good: number, bad: number) => {
    const customer = newCustomerPosterior(model, "DE");
    for (const month of [0, 1]) {
      for (const [date, reason] of [
        [good, null],
        [bad, "UNKNOWN"],
      ] as const) {
        const time = Date.UTC(2026, month, date, 12);
        recordCharge(customer.charges, Math.floor(time / DAY), time, reason);
      }
    }
    const failedAt = Date.UTC(2026, 2, 1, 12);
    return {
      customer,
      belief: newCasePosterior(model, customer, {
        ...facts,
        features: names,
        codeFeature: WEIGHT_STARTS.name,
        rows: new Int32Array(0),
        failedAt,
      }),
    };
  };
  for (let n = 0; n < 400; n++) {
    const [good, bad] = n % 2 === 0 ? [10, 20] : [20, 10];
    const { customer, belief } = open(good, bad);
    learnCase(model, belief);
    const date = n % 4 < 2 ? 10 : 20;
    learnRetry(model, customer, belief, Date.UTC(2026, 2, date, 12), date === good ? null : "UNKNOWN");
  }
  const slots = [10, 20].map((date) => Date.UTC(2026, 2, date, 12));
  const early = buildForecast(model, open(10, 20).belief, slots).chances;
  const late = buildForecast(model, open(20, 10).belief, slots).chances;
  assert.ok(early[0]! > late[0]! + 0.1 && late[1]! > early[1]! + 0.1, `${[...early]} against ${[...late]}`);
});
