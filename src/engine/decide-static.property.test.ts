import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { ACTION_STATUSES } from "../domain/recovery-action.ts";
import { MIN_GAP_MS } from "./candidate-times.ts";
import { buildCase, buildInvoice } from "./decide-learned.fixture.ts";
import { decideLearned } from "./decide-learned.ts";
import { decideStatic } from "./decide-static.ts";
import { buildDecisionContext } from "./decision-context.ts";
import type { Decision, DecisionFacts } from "./decision-facts.ts";
import type { CustomerHistory } from "./infer-posterior.ts";
import { newLearnedModel } from "./learned/learned-model.ts";
import { BANK_DEBITS } from "./rules/bank-debits.ts";
import { findCardNetwork } from "./rules/card-networks.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

const START = Date.UTC(2026, 2, 1);
const WAITS: Readonly<Record<string, number>> = {
  "02": 3,
  "24": 1 / 24,
  "25": 1,
  "26": 2,
  "27": 4,
  "28": 6,
  "29": 8,
  "30": 10,
};
const BLOCKED_BY_VISA = "04 07 12 14 15 41 43 46 57 R0 R1 R3".split(" ");

const nullOr = <T>(...values: T[]) => fc.constantFrom<T | null>(null, ...values);
const hardOrMildCodes = fc.record({
  networkDeclineCode: nullOr("05", "51", "51", "61", "91", "54", "41", "R1", "AM04", "R01", "0", "zz"),
  networkAdviceCode: nullOr("02", "03", "24", "25", "27", "30", "40", "43"),
  gatewayCode: nullOr("insufficient_funds", "do_not_honor", "processing_error", "fraudulent"),
  declineCategory: nullOr("DECLINE_CATEGORY_SOFT", "DECLINE_CATEGORY_HARD", "DECLINE_CATEGORY_LIMIT"),
});
/** Most declines are mild; otherwise hardly any random case has a retry left. */
const mildCodes: fc.Arbitrary<DeclineCodes> = fc.record({
  networkDeclineCode: nullOr("05", "51", "61", "91", "AM04", "R01", "0"),
  networkAdviceCode: nullOr("02", "25", "43"),
  gatewayCode: fc.constant(null),
  declineCategory: fc.constant(null),
});
const anyCodes = fc.oneof({ weight: 5, arbitrary: mildCodes }, { weight: 1, arbitrary: hardOrMildCodes });

const cases: fc.Arbitrary<{ known: DecisionFacts; now: Date }> = fc
  .record({
    seed: fc.integer(),
    windowDays: fc.integer({ min: 1, max: 40 }),
    budgetLeft: fc.integer({ min: 0, max: 12 }),
    leadMs: fc.constantFrom(0, 49 * 60_000, 6 * HOUR_MS),
    type: fc.constantFrom("card", "card", "card", null, "sepa_debit", "ach_debit", "bacs_debit", "paypal"),
    network: nullOr("visa", "mastercard", "amex", "elo"),
    cardCountry: nullOr("DE", "US", "BR", "SE", "CL", "AU"),
    customerTimezone: nullOr("Asia/Kolkata", "Australia/Lord_Howe", "nowhere"),
    tries: fc.array(
      fc.record({
        hour: fc.integer({ min: -600, max: 900 }),
        amount: fc.constantFrom(1000, 1000, 5),
        approved: fc.constantFrom(false, false, null, true),
        onThisInvoice: fc.boolean(),
        onPresentCard: fc.boolean(),
        codes: fc.option(anyCodes),
      }),
      { maxLength: 8 },
    ),
    crowd: fc.constantFrom(0, 0, 9, 10, 18, 20, 34),
    crowdHour: fc.integer({ min: -100, max: 600 }),
    crowdStep: fc.constantFrom(0.5, 2, 10),
    lastCodes: fc.option(anyCodes),
    changedHour: nullOr(-5, 30, 200),
    cardChange: fc.constantFrom(null, "awaited", "expired"),
    retryHours: fc.array(
      fc.record({ hour: fc.integer({ min: 0, max: 500 }), status: fc.constantFrom(...ACTION_STATUSES) }),
      { maxLength: 3 },
    ),
    nowHour: fc.double({ min: 0, max: 800, noNaN: true }),
  })
  .map((given) => {
    const at = (hour: number) => new Date(START + Math.round(hour * HOUR_MS));
    const crowd = Array.from({ length: given.crowd }, (_, index) => ({
      hour: given.crowdHour + index * given.crowdStep,
      amount: 1000,
      approved: false,
      onThisInvoice: false,
      onPresentCard: true,
      codes: null,
    }));
    const ledger = [...given.tries, ...crowd]
      .map(({ hour, ...entry }) => ({ at: at(hour), ...entry }))
      .sort((a, b) => +a.at - +b.at);
    const lastAt = ledger.findLast((entry) => entry.onPresentCard && entry.approved === false)?.at ?? at(0);
    const facts: DecisionFacts = {
      caseId: `case-${given.seed}`,
      unpaidAt: at(0),
      windowEndsAt: at(given.windowDays * 24),
      explores: true,
      budgetLeft: given.budgetLeft,
      leadMs: given.leadMs,
      amount: 1000,
      currency: "EUR",
      paymentMethodType: given.type,
      network: given.network,
      cardCountry: given.cardCountry,
      customerTimezone: given.customerTimezone,
      ledger,
      lastDecline: given.lastCodes && { at: lastAt, ...given.lastCodes },
      cardChangedAt: given.changedHour === null ? null : at(given.changedHour),
      cardChange: given.cardChange,
      cardAskedAt: given.cardChange === null ? null : at(0),
      issuerDownAt: null,
      postponedUntil: null,
      quietTimes: null,
      billed: [],
      pending: null,
      othersPlanned: false,
      retries: given.retryHours.map(({ hour, status }) => ({ idealRetryTime: at(hour), status })),
    };
    return { known: facts, now: at(given.nowHour) };
  });

/** Checks the limits independently, by counting every window. */
function assertBreaksNoLimit(facts: DecisionFacts, at: number) {
  const type = facts.paymentMethodType;
  const onCard = facts.ledger.filter((entry) => entry.onPresentCard && entry.approved !== true);
  if (type === "card" || type === null) {
    for (const limit of findCardNetwork(facts.network).limits) {
      const times = onCard
        .filter((entry) => limit.counts === "card" || entry.amount === facts.amount)
        .map((entry) => +entry.at);
      for (const start of [at - limit.windowMs, ...times, at])
        if (start <= at && at <= start + limit.windowMs)
          assert.ok(
            1 + times.filter((time) => start <= time && time <= start + limit.windowMs).length <= limit.attemptsMax,
          );
    }
    const approvals = facts.ledger.filter((entry) => entry.onPresentCard && entry.approved === true);
    for (const { codes, at: declinedAt, onThisInvoice } of onCard) {
      const isAlive = !onThisInvoice && approvals.some((approval) => approval.at > declinedAt);
      const isOver = isAlive && at - facts.leadMs >= +declinedAt + 30 * DAY_MS;
      if (!isOver && (codes?.networkAdviceCode === "03" || codes?.networkAdviceCode === "21"))
        assert.fail("never again on this card");
      const brand = findCardNetwork(facts.network).name;
      if (!isOver && brand !== "Mastercard" && codes && BLOCKED_BY_VISA.includes(codes.networkDeclineCode ?? ""))
        assert.fail("barred by Visa");
      const readsAdvice = facts.network === "mastercard" || facts.network === null || facts.network === "elo";
      const waitDays = readsAdvice ? (WAITS[codes?.networkAdviceCode ?? ""] ?? 0) : 0;
      if (waitDays > 0) assert.ok(at - facts.leadMs >= +declinedAt + waitDays * DAY_MS);
    }
  }
  const debit = BANK_DEBITS.get(type ?? "");
  if (debit) {
    const presented = facts.ledger.filter((entry) => entry.onPresentCard && entry.onThisInvoice);
    assert.ok(presented.length + 1 <= debit.presentationsMax);
    if (presented[0]) assert.ok(at <= +presented[0].at + debit.withinMs);
  }
}

/**
 * Returns the time of a retry after checking it against the window and all limits; null for another decision. Always checks that
 * the reasons are sentences.
 */
function findKeptRetry(facts: DecisionFacts, now: Date, decision: Decision): number | null {
  const { reasons } = decision;
  assert.ok(reasons.length >= 2 && reasons.length <= 5, JSON.stringify(decision));
  assert.ok(reasons.every((reason) => /^[A-Z].*\.$/.test(reason) && !/undefined|null|NaN/.test(reason)));
  if (decision.kind !== "retry") return null;
  const at = +decision.at;
  assert.ok(facts.budgetLeft > 0);
  assert.ok(at >= +now && at >= +facts.unpaidAt && at < +facts.windowEndsAt);
  assertBreaksNoLimit(facts, at);
  return at;
}

test("a retry is within the window, keeps the gap and breaks no network's limit, whatever happened before", () => {
  let retries = 0;
  fc.assert(
    fc.property(cases, ({ known, now }) => {
      const decision = decideStatic(buildDecisionContext(known, now));
      const at = findKeptRetry(known, now, decision);
      if (at === null) return;
      retries++;
      const requested = known.retries.filter(({ status }) => status !== "SCHEDULED" && status !== "CANCELED");
      const last = Math.max(
        ...known.ledger.filter((entry) => entry.onThisInvoice).map((entry) => +entry.at),
        ...requested.map(({ idealRetryTime }) => +idealRetryTime),
      );
      const isNewCard = known.cardChangedAt !== null && last < +known.cardChangedAt;
      if (!isNewCard) assert.ok(at - last >= MIN_GAP_MS);
    }),
    { numRuns: 3000, seed: 20260406 },
  );
  assert.ok(retries > 400, `only ${retries} of the cases had a retry`);
});

/** Returns the history that the learned engine also needs: this invoice's failures, and no other invoice. */
function historyOf(facts: DecisionFacts): CustomerHistory {
  const { paymentMethodType, network, cardCountry } = facts;
  const failed = facts.ledger.filter(({ onThisInvoice, approved }) => onThisInvoice && approved === false);
  const charges = [{ at: facts.unpaidAt, codes: null }, ...failed]
    .map(({ at, codes }) => ({ at, codes, approved: false }))
    .sort((a, b) => +a.at - +b.at);
  const unknown = { tenureDays: null, billingPeriod: null, billingPeriodUnit: null, funding: null, issuer: null };
  return {
    traits: { ...unknown, merchant: "m", country: cardCountry ?? "EUR", paymentMethodType, network },
    instrument: { paymentMethodType, network, cardCountry },
    offsetAt: () => 0,
    invoices: [{ dollars: 11, paymentMethodType, charges }],
  };
}

test("the learned engine also breaks no network's limit and keeps its plan, whatever happened before", () => {
  const model = newLearnedModel();
  let retries = 0;
  fc.assert(
    fc.property(cases, fc.double({ min: 0, max: 1, noNaN: true }), ({ known, now }, share) => {
      const decideBy = (at: Date) =>
        decideLearned(buildDecisionContext(known, at, historyOf(known)), historyOf(known), model).decision;
      const decision = decideBy(now);
      const at = findKeptRetry(known, now, decision);
      if (at === null) return;
      retries++;
      if (at <= +now) return;
      const later = new Date(+now + Math.floor(share * (at - +now)));
      assert.deepEqual(decideBy(later), decision);
    }),
    { numRuns: 2000, seed: 20260407 },
  );
  assert.ok(retries > 250, `only ${retries} of the cases had a retry`);
});

test("no retry moves to a forbidden time through jitter, a sampled hour, or a missed plan", () => {
  const model = newLearnedModel();
  /**
   * Requests as many retries of other invoices as the limit allows in this many days, so that from `until` on one more exceeds
   * it.
   */
  const planOf = (caseId: string, network: string, until: number, days: number, late = 0) => {
    const [plain, history] = buildCase([buildInvoice("2026-04-02", [])], { caseId, network });
    const requestEntry = {
      amount: plain.amount,
      approved: null,
      onThisInvoice: false,
      onPresentCard: true,
      codes: null,
    };
    const asks = Array.from({ length: 20 }, () => ({ ...requestEntry, at: new Date(until + days * DAY_MS) }));
    const facts = { ...plain, ledger: [...plain.ledger, ...asks] };
    const now = late > 0 ? until + late : +facts.unpaidAt + HOUR_MS;
    return decideLearned(buildDecisionContext(facts, new Date(now), history), history, model);
  };
  const farAt = Date.UTC(2026, 3, 20);
  for (let n = 0; n < 100; n++) {
    // Repeats until the plan's own time is the last one allowed, or the only one. A tighter limit makes the time earlier.
    let until = farAt;
    for (let chosen = planOf(`case ${n}`, "visa", until, 30).chosen; chosen !== null && chosen.at + 1000 < until; ) {
      const tighter = chosen.at + 1000;
      chosen = planOf(`case ${n}`, "visa", tighter, 30).chosen;
      if (chosen !== null) until = tighter;
    }
    const { decision } = planOf(`case ${n}`, "visa", until, 30);
    assert.ok(decision.kind === "retry" && +decision.at < until, JSON.stringify(decision));

    const planned = planOf(`case ${n}`, "mastercard", farAt, 400).chosen!.at + 1000;
    const { decision: late } = planOf(`case ${n}`, "mastercard", planned, 1, HOUR_MS);
    assert.ok(late.kind === "retry" && +late.at > planned + DAY_MS, JSON.stringify(late));
  }
});

test("a plan stays exactly the same while its time lies ahead", () => {
  fc.assert(
    fc.property(cases, fc.double({ min: 0, max: 1, noNaN: true }), ({ known, now }, share) => {
      const first = decideStatic(buildDecisionContext(known, now));
      assert.deepEqual(decideStatic(buildDecisionContext(structuredClone(known), now)), first);
      if (first.kind !== "retry" || first.at <= now) return;
      const later = new Date(+now + Math.floor(share * (+first.at - +now)));
      assert.deepEqual(decideStatic(buildDecisionContext(known, later)), first);
      assert.deepEqual(
        decideStatic(buildDecisionContext(known, new Date(+first.at - Math.min(known.leadMs, +first.at - +now)))),
        first,
      );
      assert.deepEqual(decideStatic(buildDecisionContext(known, first.at)), first);
    }),
    { numRuns: 2000, seed: 7 },
  );
});

test("a plan does not depend on the retry being decided, or on a withdrawn one", () => {
  fc.assert(
    fc.property(cases, ({ known, now }) => {
      const decision = decideStatic(buildDecisionContext(known, now));
      if (decision.kind !== "retry" || decision.at <= now) return;
      const statuses = ["SCHEDULED", "CANCELED"] as const;
      const retries = [...known.retries, ...statuses.map((status) => ({ idealRetryTime: decision.at, status }))];
      assert.deepEqual(decideStatic(buildDecisionContext({ ...known, retries }, now)), decision);
    }),
    { numRuns: 1000 },
  );
});

test("cases that failed together are not retried in the same second", () => {
  const { known } = fc.sample(cases, { numRuns: 1, seed: 3 })[0]!;
  const nothingYet = { ledger: [], lastDecline: null, cardChangedAt: null, retries: [] };
  const windowEndsAt = new Date(START + 28 * DAY_MS);
  const plain: DecisionFacts = { ...known, ...nothingYet, budgetLeft: 8, paymentMethodType: "card", windowEndsAt };
  const times = new Set(
    Array.from({ length: 500 }, (_, index) => {
      const decision = decideStatic(buildDecisionContext({ ...plain, caseId: `case ${index}` }, new Date(START)));
      return decision.kind === "retry" ? +decision.at : 0;
    }),
  );
  assert.ok(times.size > 300);
  assert.ok(Math.max(...times) - Math.min(...times) < 15 * 60_000);
});
