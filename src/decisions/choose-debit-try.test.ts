import assert from "node:assert/strict";
import { test } from "node:test";
import { AT_ONCE, BOOKINGS, judgedOn } from "../model/booking.ts";
import { classOf, hourWeight } from "../model/layout.ts";
import { belief, DAY, HOUR, learned, question } from "./choose-try.fixture.ts";
import { chooseTry } from "./choose-try.ts";

test("cards' hours say nothing of debits, which are booked with all else of a day", () => {
  const model = { ...learned, mean: learned.mean.slice() };
  model.mean[hourWeight(classOf("FUNDS"), 5)] = 1;
  const laterHours = (booking: number) => {
    const of = belief("FUNDS");
    of.clock = { ...of.clock, booking };
    const asked = question();
    const { slots } = chooseTry(model, of, asked)!.weighed.forecast;
    const later = slots.filter((at) => at > asked.now + 2 * DAY && at < asked.windowEndsAt - HOUR);
    return [...new Set(later.map((at) => new Date(at + of.clock.offsetMs).getUTCHours()))].sort((a, b) => a - b);
  };
  assert.deepEqual(laterHours(AT_ONCE), [5, 21]);
  assert.deepEqual(laterHours(3), [9, 21]);
});

test("no try is planned before the day is over on which the one before it is booked", () => {
  for (let n = 0; n < 60; n++) {
    const debit = belief("FUNDS");
    debit.clock = {
      ...debit.clock,
      booking: BOOKINGS.findIndex((one) => one?.cutoff === 14 && one.businessDays === 2),
    };
    const chosen = chooseTry(learned, debit, question({ key: `case-${n}` }))!;
    const moments = [chosen.at, ...chosen.next];
    for (let next = 1; next < moments.length; next++)
      assert.ok(
        Math.floor((moments[next]! + debit.clock.offsetMs) / DAY) > judgedOn(debit.clock, moments[next - 1]!),
        `case ${n}: ${moments.map((moment) => new Date(moment).toISOString()).join(", ")}`,
      );
  }
});
