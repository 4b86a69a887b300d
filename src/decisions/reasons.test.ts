import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { guardOf, type LedgerEntry } from "../rules/guard.ts";
import { caseOf, paidOnThe25th, soon } from "./decide-learned.fixture.ts";
import { namesRule, triesLeftWords } from "./reasons.ts";
import { situationOf } from "./situation.ts";

const NOTHING = { networkDeclineCode: null, networkAdviceCode: null, gatewayCode: null, declineCategory: null };
const entry = (day: number, over: Partial<LedgerEntry>): LedgerEntry => ({
  at: new Date(day * DAY_MS),
  amount: 100,
  approved: false,
  onThisInvoice: false,
  onPresentCard: true,
  codes: NOTHING,
  ...over,
});

test("each rule that keeps a try from coming sooner is known by its sentence, and other reasons are not taken for one", () => {
  const instrument = { paymentMethodType: "card", network: "mastercard", cardCountry: null };
  for (const ledger of [
    [entry(1, { codes: { ...NOTHING, networkAdviceCode: "26" } })],
    [entry(1, { codes: null, approved: null, mayBeAnswered: true })],
    [entry(1, { codes: { ...NOTHING, networkAdviceCode: "03" } }), entry(2, { approved: true, clears: true })],
  ]) {
    const { notBefore } = guardOf({ instrument, amount: 100, ledger, firstTriedAt: null, earlyMs: 0 });
    assert.ok(namesRule(notBefore!.sentence), notBefore!.sentence);
  }
  for (const reason of [
    "The last try failed: there was not enough money (code 51).",
    "After this one, 7 more tries may be made before the window ends on Mon 4 May.",
  ])
    assert.equal(namesRule(reason), false, reason);
});

test("no more tries are said to be left than the time left has room for, and no rule is then said to leave them", () => {
  const [{ ledger, ...rest }] = caseOf(paidOnThe25th, { paymentMethodType: "paypal", network: null });
  const known = { ...rest, ledger: ledger.slice(0, 1) };
  const situation = situationOf(known, soon(known));
  const end = +known.windowEndsAt;
  const words = (hoursLeft: number) =>
    triesLeftWords(situation, end - hoursLeft * HOUR_MS, end, 2 * HOUR_MS).replace(/ may be made.*?\./, "");
  assert.match(words(3), /^After this one, 1 more try PayPal allows/);
  assert.equal(words(1.5), "After this one, no more try");
});
