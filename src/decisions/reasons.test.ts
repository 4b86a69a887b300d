import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../domain/durations.ts";
import { caseOf, paidOnThe25th, soon } from "./decide-learned.fixture.ts";
import { retryBecause } from "./reasons.ts";
import { situationOf } from "./situation.ts";

test("no more tries are said to be left than the time left has room for, and no rule is then said to leave them", () => {
  const [{ ledger, ...rest }] = caseOf(paidOnThe25th, { paymentMethodType: "paypal", network: null });
  const known = { ...rest, ledger: ledger.slice(0, 1) };
  const situation = situationOf(known, soon(known));
  const end = +known.windowEndsAt;
  const retry = (hoursLeft: number) => retryBecause(situation, end - hoursLeft * HOUR_MS, [], null, hoursLeft / 2);
  const words = (hoursLeft: number) =>
    retry(hoursLeft)
      .reasons.at(-1)!
      .replace(/ may be made.*?\./, "");
  assert.match(words(3), /^After this one, 1 more try PayPal allows/);
  assert.equal(words(1.5), "After this one, no more try");
});
