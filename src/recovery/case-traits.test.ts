import assert from "node:assert/strict";
import { test } from "node:test";
import { buildCaseTraits } from "./case-traits.ts";
import { DAY, HOUR, START } from "./stage.fixture.ts";
import { at, buildAction, buildAttempt, buildView, stepAt } from "./step.fixture.ts";

test("a case keeps the codes and the card of its first decline", () => {
  const later = buildAttempt({ id: "txn_2", createdAt: at(2 * DAY), networkDeclineCode: "54", cardCountry: "FR" });
  const first = buildAttempt({ createdAt: at(-HOUR), cardIssuer: "Northbank" });
  const traits = buildCaseTraits(buildView({ transactions: [first, later] }), []);
  assert.deepEqual(
    [traits.declineGroup, traits.declineCode, traits.paymentMethod, traits.cardCountry, traits.cardIssuer],
    ["FUNDS", "51", "visa", "DE", "Northbank"],
  );
});

test("a decline of an earlier recovery of the invoice is not taken for the first of this one", () => {
  const earlier = buildAttempt({ id: "txn_0", createdAt: at(-90 * DAY), networkDeclineCode: "54" });
  const traits = (transactions: ReturnType<typeof buildAttempt>[]) => buildCaseTraits(buildView({ transactions }), []);
  assert.equal(traits([earlier, buildAttempt()]).declineGroup, "FUNDS");
  assert.equal(traits([earlier]).declineGroup, "EXPIRED", "better than none");
  assert.equal(traits([]).declineGroup, null);
  assert.equal(
    traits([buildAttempt({ amount: 0 }), buildAttempt({ paymentGatewayStatus: "not_sent_to_network" })]).declineGroup,
    null,
  );
});

test("executed retries are kept in order, by the hour of the week on the customer's clock", () => {
  const done = (id: string, status: "FAILED" | "SUCCEEDED", attemptedAt: string) =>
    buildAction({ id, status, executedAt: new Date(attemptedAt), attemptedAt: new Date(attemptedAt) });
  const actions = [
    done("b", "SUCCEEDED", "2026-03-29T22:30:00Z"),
    done("a", "FAILED", "2026-03-28T22:30:00Z"),
    buildAction({ id: "c" }),
    buildAction({ id: "d", type: "CARD_CHANGE", status: "SUCCEEDED", executedAt: START }),
  ];
  const { tries } = buildCaseTraits(
    buildView({ transactions: [buildAttempt({ customerTimezone: "Europe/Berlin" })] }),
    actions,
  );
  // Saturday 23:30 in winter; Monday 0:30 in summer, after the change of clocks on Sunday.
  assert.deepEqual(tries, [
    { hourOfWeek: 5 * 24 + 23, isPaid: false },
    { hourOfWeek: 0, isPaid: true },
  ]);
});

test("a step hands its traits on with the plan and the amount's band", () => {
  const { traits } = stepAt(DAY, { subscription: { planId: "team" } as never });
  assert.deepEqual([traits.planId, traits.amountBand], ["team", "20"]);
});
