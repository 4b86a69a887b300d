import assert from "node:assert/strict";
import { test } from "node:test";
import { CYCLE_COUNT, daysSincePay, PAY_CYCLES } from "./pay-cycles.ts";

const dayOf = (date: string) => Date.parse(`${date}T00:00:00Z`) / 86_400_000;
const cycleNumber = (words: string) => {
  const number = PAY_CYCLES.findIndex((cycle) => cycle.words === words);
  assert.ok(number >= 0, words);
  return number;
};
const daysSincePayOf = (words: string, date: string) => {
  const { row, from } = daysSincePay(dayOf(date));
  return row[from + cycleNumber(words)];
};

test("pay due on a weekend comes on the Friday before, except in cycles of unshifted dates", () => {
  // April 25, 2026 is a Saturday.
  assert.equal(daysSincePayOf("around the 25th of the month", "2026-04-24"), 0);
  assert.equal(daysSincePayOf("around the 25th of the month", "2026-04-27"), 3);
  assert.equal(daysSincePayOf("on the 25th of the month", "2026-04-24"), 30);
  assert.equal(daysSincePayOf("on the 25th of the month", "2026-04-25"), 0);
});

test("the end of the month is its last day, also in February", () => {
  assert.equal(daysSincePayOf("on the last day of the month", "2024-02-29"), 0);
  assert.equal(daysSincePayOf("at the end of the month", "2026-02-27"), 0);
});

test("weekly, fortnightly and working-day cycles count from their own days", () => {
  assert.equal(daysSincePayOf("on Fridays", "2026-04-27"), 3);
  assert.equal(daysSincePayOf("on the fifth working day of the month", "2026-04-07"), 0);
  const fortnightly = PAY_CYCLES.flatMap(({ words }, c) => (words === "every other week on Fridays" ? [c] : []));
  const { row, from } = daysSincePay(dayOf("2026-04-24"));
  assert.deepEqual(fortnightly.map((c) => row[from + c]).sort(), [0, 7]);
});

test("the cached blocks equal each cycle's pay days, also before 1970", () => {
  for (const start of [dayOf("2026-03-01"), -400])
    for (let day = start; day < start + 300; day += 7) {
      const { row, from } = daysSincePay(day);
      for (let c = 0; c < CYCLE_COUNT; c += 5) {
        let days = 0;
        while (days < 36 && !PAY_CYCLES[c]!.pays(day - days)) days++;
        assert.equal(row[from + c], days, `${PAY_CYCLES[c]!.words} ${day}`);
      }
    }
});

test("round dates start as common, and the 21st is no rounder than the 20th", () => {
  const usual = (words: string) => PAY_CYCLES[cycleNumber(words)]!.usual;
  assert.equal(usual("around the 21st of the month"), usual("around the 20th of the month"));
  assert.equal(usual("around the 1st of the month"), 5 * usual("around the 20th of the month"));
});
