import assert from "node:assert/strict";
import { test } from "node:test";
import { HOUR_MS } from "../domain/durations.ts";
import { caseOf, paidOnThe25th, soon } from "./decide-learned.fixture.ts";
import { retryBecause } from "./reasons.ts";
import { situationOf } from "./situation.ts";

test("where the time left has room for fewer tries than are allowed, both are said, and no rule is then said to leave them", () => {
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
  assert.equal(
    retry(1.5).reasons.at(-1),
    "After this one, 1 more try would be allowed, but before the window ends on Sat 9 May there is no time for it.",
  );
  const { reasons } = retryBecause(
    situationOf(caseOf(paidOnThe25th)[0], soon(known)),
    end - 26 * HOUR_MS,
    [],
    null,
    2.4,
  );
  assert.match(
    reasons.at(-1)!,
    /^After this one, 4 more tries would be allowed, but .* there is time for about 2 of them\.$/,
  );
});
