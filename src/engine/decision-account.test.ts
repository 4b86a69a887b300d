import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { buildFailedFacts, hoursAfterFailure } from "./decide-static.fixture.ts";
import { decideStatic } from "./decide-static.ts";
import { buildAccount } from "./decision-account.ts";
import { buildDecisionContext } from "./decision-context.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";

const NOTHING = { networkDeclineCode: null, networkAdviceCode: null, gatewayCode: null, declineCategory: null };
const MASTERCARD = buildFailedFacts({ networkDeclineCode: "51" }, { network: "mastercard" });
const buildEntry = (hours: number, overrides: Partial<LedgerEntry>): LedgerEntry => ({
  at: hoursAfterFailure(hours),
  amount: 2900,
  approved: false,
  onThisInvoice: false,
  onPresentCard: true,
  codes: NOTHING,
  ...overrides,
});
const buildFactsWith = (...entries: LedgerEntry[]): DecisionFacts => ({
  ...MASTERCARD,
  ledger: [...MASTERCARD.ledger, ...entries].sort((one, other) => +one.at - +other.at),
});

/** Returns the account of a decision this many hours after the invoice failed, with the invoice's facts. */
function buildAccountOf(known: DecisionFacts, hours = 0.1, before: Parameters<typeof buildAccount>[3] = null) {
  const now = hoursAfterFailure(hours);
  const context = buildDecisionContext(known, now);
  const made = { decision: decideStatic(context), chosen: null, outlook: () => null };
  const found = buildAccount(context, made, null, before);
  const { reasons, known: facts, about } = found;
  return {
    ...found,
    waits: about.wait.map((place) => reasons[place]),
    rules: about.rule.map((place) => reasons[place]),
    limits: about.limit.map((place) => facts[place]),
    tally: about.tally.map((place) => facts[place]),
  };
}

test("each rule that delays a retry is listed apart from the other reasons", () => {
  const last = { ...MASTERCARD.lastDecline!, networkAdviceCode: "26" };
  const advised: DecisionFacts = {
    ...MASTERCARD,
    ledger: [buildEntry(0, { onThisInvoice: true, codes: last })],
    lastDecline: last,
  };
  const blockedCodes = { ...NOTHING, networkAdviceCode: "03" };
  const liftedFacts = buildFactsWith(
    buildEntry(-DAY_MS / HOUR_MS, { codes: blockedCodes }),
    buildEntry(-1, { approved: true, clears: true }),
  );
  for (const [facts, hours, words] of [
    [advised, 0.1, /^The bank advised .*, so Dunlin does not retry sooner/],
    [{ ...liftedFacts, windowEndsAt: hoursAfterFailure(40 * 24) }, 29 * 24 - 1, /within 30 days of that decline\.$/],
    [
      buildFactsWith(buildEntry(24 * 14, { codes: null, approved: null, mayBeAnswered: true })),
      24 * 14,
      /so Dunlin waits for the answer first/,
    ],
  ] as const) {
    const { waits, reasons } = buildAccountOf(facts, hours);
    assert.deepEqual(
      waits,
      reasons.filter((reason) => words.test(reason)),
      reasons.join(" "),
    );
    assert.equal(waits.length, 1);
  }
  assert.deepEqual(buildAccountOf(MASTERCARD).waits, []);
});

test("a debit that may not be presented again has no retries left, and an invoice's limit gives its count", () => {
  const paidBy = (paymentMethodType: string, networkDeclineCode: string) =>
    buildAccountOf(buildFailedFacts({ networkDeclineCode }, { paymentMethodType, network: null })).limits.join(" ");
  assert.match(
    paidBy("sepa_debit", "MD01"),
    /after AM04 or MS03 .* Retries left by this rule: none, after such a decline\.$/,
  );
  assert.match(paidBy("bacs_debit", "0"), / Retries left by this rule: any number\.$/);
  assert.match(paidBy("paypal", "51"), /two attempts after the first .* Counted so far, including the first: 1\.$/);
});

test("the payment method has its usual name", () => {
  const payer = (overrides: Partial<DecisionFacts>) =>
    buildAccountOf({ ...MASTERCARD, ...overrides }).known.find((each) => / is due/.test(each))!;
  assert.match(payer({ network: "amex" }), / to be paid by card \(American Express, /);
  assert.match(payer({ paymentMethodType: "us_bank_account", network: null }), / to be paid by ACH debit \(/);
  const { reasons } = buildAccountOf({ ...MASTERCARD, paymentMethodType: "paypal", network: null });
  assert.match(reasons.at(-2)!, /^How payments by PayPal are retried/);
});

test("a rule that allows fewer retries, and the lack of rules, are listed apart from the other reasons", () => {
  const paidBy = (paymentMethodType: string) => buildAccountOf({ ...MASTERCARD, paymentMethodType, network: null });
  const { rules, reasons, waits } = paidBy("klarna");
  assert.deepEqual([rules, waits], [[reasons.at(-2)], []]);
  assert.match(rules[0]!, /^No rules are known/);
  const paypal = paidBy("paypal");
  assert.deepEqual(paypal.rules, paypal.reasons.slice(-2));
  assert.match(paypal.rules[1]!, /^After this one, 1 more retry .* PayPal allows/);
  assert.deepEqual(buildAccountOf(MASTERCARD).rules, []);
});

test("counts are listed apart from other facts, and are no change", () => {
  const others = Array.from({ length: 6 }, (_, n) => buildEntry(2 * n + 2, { onThisInvoice: true }));
  const before = buildAccountOf(buildFactsWith(...others), 13);
  assert.deepEqual(before.tally, ["3 attempts failed before the following ones."]);
  assert.equal(before.limits.length, 2);
  for (const limit of before.limits) assert.match(limit!, /Counted so far: 7\.$/);
  // Reported late and not among the latest attempts, so only the count changes.
  const late = buildAccountOf(buildFactsWith(buildEntry(1, { onThisInvoice: true }), ...others), 13, before);
  assert.deepEqual([late.tally, late.changed], [["4 attempts failed before the following ones."], []]);
  assert.match(late.limits[0]!, /Counted so far: 8\.$/);
  const another = buildAccountOf(buildFactsWith(...others, buildEntry(13, { onThisInvoice: true })), 14, before);
  assert.deepEqual(another.changed.length, 1);
  assert.match(another.changed[0]!, /^An attempt failed on /);
});

test("an unreported first attempt is not known to have failed", () => {
  const presumed = { ...buildFailedFacts(null), ledger: [buildEntry(0, { onThisInvoice: true, codes: null })] };
  assert.equal(buildAccountOf(presumed).knowsFailure, false);
  assert.equal(buildAccountOf(MASTERCARD).knowsFailure, true);
});

test("a debit's rule excludes the rest of the window only after a code that ends retries", () => {
  const debit = (networkDeclineCode: string) =>
    buildAccountOf({ ...buildFailedFacts({ networkDeclineCode }, { network: null }), paymentMethodType: "sepa_debit" })
      .ruledOut;
  assert.ok(debit("AC04").some(({ rule }) => /^SEPA/.test(rule)));
  assert.deepEqual(
    debit("AM04").filter(({ from }) => from <= hoursAfterFailure(1)),
    [],
  );
});

test("the account lists the invoice's latest four failed attempts, then the latest four with unknown outcomes, each in its own words", () => {
  const mine = (hours: number, overrides: Partial<LedgerEntry> = {}) =>
    buildEntry(hours, { onThisInvoice: true, ...overrides });
  const attempts = buildFactsWith(
    buildEntry(3, {}),
    mine(4, { approved: true }),
    ...[1, 2, 5].map((hours) => mine(hours)),
    ...[6, 7, 8, 9].map((hours) => mine(hours, { approved: null })),
    mine(10, { approved: null, codes: null }),
  );
  const { known, tally } = buildAccountOf(attempts, 11);
  const attemptFacts = known.filter((fact) => /^(A first|An) attempt |^A retry was/.test(fact));
  const clock = (hours: number) => `Mon 6 April, ${12 + hours}:00 (Europe/Berlin)`;
  assert.deepEqual(attemptFacts, [
    ...[0, 1, 2, 5].map((hours) => `An attempt failed on ${clock(hours)}.`),
    ...[7, 8, 9].map((hours) => `An attempt was made on ${clock(hours)}, and its outcome is not known.`),
    `A retry was requested on ${clock(10)}, and its outcome is not known.`,
  ]);
  assert.deepEqual(tally, []);
});

test("an unreported first attempt is described as presumed", () => {
  const presumed = { ...buildFailedFacts(null), ledger: [buildEntry(0, { onThisInvoice: true, codes: null })] };
  const attemptFacts = buildAccountOf(presumed).known.filter(
    (fact) => /attempt/.test(fact) && /to have failed/.test(fact),
  );
  assert.deepEqual(attemptFacts, [
    "A first attempt is assumed to have failed when the invoice became unpaid, on Mon 6 April, 12:00 (Europe/Berlin).",
  ]);
});

test("the period that a rule excludes is given to the minute", () => {
  const last = { ...MASTERCARD.lastDecline!, networkAdviceCode: "26" };
  const advised: DecisionFacts = {
    ...MASTERCARD,
    ledger: [buildEntry(0, { onThisInvoice: true, codes: last })],
    lastDecline: last,
  };
  const [first] = buildAccountOf(advised, 0.1).ruledOut;
  const waitMs = +first!.to - +hoursAfterFailure(0);
  assert.equal(+first!.from, +hoursAfterFailure(0.1));
  // The advice is to wait two days, and the retry may run early by the merchant's lead time.
  assert.ok(Math.abs(waitMs - 2 * DAY_MS - advised.leadMs) <= 60_000, `${waitMs / HOUR_MS} hours`);
});
