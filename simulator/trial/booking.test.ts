import assert from "node:assert/strict";
import { test } from "node:test";
import { BOOKINGS, bookingOf } from "../../src/model/booking.ts";
import { newLearned } from "../../src/model/learned.ts";
import { world as debits } from "../worlds/debits.ts";
import { foresightOf } from "./foresight.ts";

test("how many business days later debits are booked is found within some two thousand tries, whatever a scheme is known for", () => {
  for (const [cutoff, businessDays] of [
    [21, 2],
    [17, 1],
  ] as const) {
    const learned = newLearned();
    const { tries } = foresightOf(debits({ cutoff, businessDays }), learned, 71, 800);
    const found = ["sepa_debit", "ach_debit", "bacs_debit"].map(
      (scheme) => BOOKINGS[bookingOf(learned, scheme)]?.businessDays,
    );
    const right = found.filter((days) => days === businessDays).length;
    assert.ok(right >= 2, `${found.join(", ")} after ${tries} tries, and it is ${businessDays}`);
  }
});
