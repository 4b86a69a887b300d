import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import type { LedgerEntry } from "./attempt-ledger.ts";
import { buildGuard, findForbiddingRule, type Guard } from "./guard.ts";
import { findFillableLimits, findFullLimit, findTightestLimit, keepsLimit, type PlanLimit } from "./plan-limits.ts";
import { SOURCES } from "./sources.ts";
import { setWallet, WALLETS } from "./wallets.ts";

const START = Date.UTC(2026, 0, 1);
const hour = (hours: number) => START + hours * HOUR_MS;
const day = (days: number) => START + days * DAY_MS;
const buildDecline = (at: number): LedgerEntry => ({
  at: new Date(at),
  amount: 1000,
  approved: false,
  onThisInvoice: true,
  onPresentCard: true,
  codes: null,
});
setWallet("voucher", {
  ...WALLETS.get("paypal")!,
  name: "The voucher",
  limits: [
    { attemptsMax: 3, windowMs: 28 * DAY_MS, counts: "card", words: "3 tries in 28 days", source: SOURCES.paypal },
  ],
});
const buildGuardWith = (times: readonly number[], earlyMs = 0): Guard =>
  buildGuard({
    instrument: { paymentMethodType: "voucher", network: null, cardCountry: null },
    amount: 1000,
    ledger: times.map(buildDecline),
    firstTriedAt: null,
    earlyMs,
  });

/** Whether each of these times keeps the limit when added to the plan in turn. */
const keepsPlanLimit = (limit: PlanLimit, times: readonly number[]) =>
  times.every((at, n) =>
    keepsLimit(
      limit,
      times.slice(0, n).sort((a, b) => a - b),
      at,
    ),
  );

const pastTimes = fc.array(fc.integer({ min: 0, max: 60 * 24 }), { maxLength: 6 });
const plannedTimes = fc.array(fc.integer({ min: 60 * 24 + 1, max: 130 * 24 }), { maxLength: 6 });

test("retries that keep a limit together are each allowed in turn, however early the earlier ones came", () => {
  const early = fc.constantFrom(0, 49, 12 * 60);
  fc.assert(
    fc.property(pastTimes, plannedTimes, early, fc.boolean(), (made, planned, earlyMinutes, isEarly) => {
      const earlyMs = earlyMinutes * 60_000;
      const times = [...planned].sort((a, b) => a - b).map(hour);
      const limits = findFillableLimits(buildGuardWith(made.map(hour), earlyMs), hour(60 * 24), times.length);
      if (!limits.every((limit) => keepsPlanLimit(limit, times))) return;
      const came = times.map((at) => (isEarly ? at - earlyMs : at));
      for (const [n, at] of times.entries())
        assert.equal(findForbiddingRule(buildGuardWith([...made.map(hour), ...came.slice(0, n)], earlyMs), at), null);
    }),
    { numRuns: 2000 },
  );
});

test("a plan keeps a limit exactly when each retry is allowed, in any order, if none comes early", () => {
  fc.assert(
    fc.property(pastTimes, plannedTimes, fc.nat(5), (made, planned, shift) => {
      const times = [...planned].sort((a, b) => a - b).map(hour);
      const limits = findFillableLimits(buildGuardWith(made.map(hour)), hour(60 * 24), times.length);
      const turned = [...times.slice(shift), ...times.slice(0, shift)];
      const isAllowed = times.every(
        (at, n) => findForbiddingRule(buildGuardWith([...made.map(hour), ...times.slice(0, n)]), at) === null,
      );
      assert.equal(
        limits.every((limit) => keepsPlanLimit(limit, turned)),
        isAllowed,
      );
    }),
    { numRuns: 2000 },
  );
});

test("a limit is ignored when the remaining retries cannot fill it", () => {
  assert.equal(findFillableLimits(buildGuardWith([day(0)]), day(1), 2).length, 0);
  assert.equal(findFillableLimits(buildGuardWith([day(0)]), day(1), 3).length, 1);
  assert.equal(findFillableLimits(buildGuardWith([day(0)]), day(29), 3).length, 0);
});

test("the retries left are those that fit before the end, under the tightest rule", () => {
  const fewestOf = (guard: Guard, from: number, until: number, most = 8) =>
    findTightestLimit(guard, [day(from), day(until)], DAY_MS, most);
  const countLeft = (days: readonly number[], until: number, most?: number) =>
    fewestOf(buildGuardWith(days.map(day)), days.at(-1)!, until, most);
  assert.equal(countLeft([0], 21)!.count, 2);
  // The first attempt leaves the window after day 28; from then on, one more fits per day.
  assert.deepEqual([countLeft([0], 28)!.count, countLeft([0], 28.5)!.count, countLeft([0], 29.5)!.count], [2, 3, 4]);
  assert.equal(countLeft([0, 5], 21)!.count, 1);
  assert.equal(countLeft([0, 5, 9], 21)!.count, 0);
  assert.equal(countLeft([0], 21, 2), null);
  assert.match(countLeft([0], 21)!.sentence, /^The voucher allows at most 3 tries in 28 days/);
  const guard = {
    ...buildGuardWith([day(0)]),
    attemptsLeft: { sentence: "One.", source: buildGuardWith([]).limits[0]!.source, count: 1 },
  };
  assert.equal(fewestOf(guard, 0, 21)!.sentence, "One.");
  assert.equal(fewestOf(guard, 0, 21, 1), null);
});

test("a limit is full to an end that a retry may precede by as much as it may be early", () => {
  const full = (earlyMs: number, until: number) =>
    findFullLimit(buildGuardWith([day(0), day(0), day(0)], earlyMs), [day(1), day(until)])?.sentence;
  assert.equal(full(0, 28.25), undefined);
  assert.match(full(12 * HOUR_MS, 28.25)!, /^The voucher allows at most 3 tries/);
  assert.equal(full(12 * HOUR_MS, 28.75), undefined);
});
