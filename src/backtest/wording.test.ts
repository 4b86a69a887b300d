import assert from "node:assert/strict";
import { test } from "node:test";
import type { CurrencyResult } from "./backtest.ts";
import { isEstimate } from "./estimate.ts";
import {
  assumptionsText,
  basisText,
  currencySummaryText,
  indistinguishableText,
  judgedStrategyText,
  leftOutText,
  noResultText,
  shortAnswerText,
  strategiesText,
} from "./wording.ts";

test("a book in a sentence has its counts and amounts as people write them", () => {
  const book = {
    currency: "EUR",
    invoices: 12_345,
    recovered: 1_234,
    amount: 5_000_000,
    recoveredAmount: 500_000,
    ways: [],
  };
  assert.equal(
    currencySummaryText(book),
    "12,345 invoices failed, EUR 50,000.00 in all, and your system recovered 1,234 of them (10.0%): EUR 5,000.00, 10.0% of the money.",
  );
});

test("one invoice is one", () => {
  const only = { currency: "EUR", invoices: 1, amount: 4_900, ways: [] };
  assert.equal(
    currencySummaryText({ ...only, recovered: 1, recoveredAmount: 4_900 }),
    "1 invoice failed, EUR 49.00, and your system recovered it.",
  );
  assert.equal(
    currencySummaryText({ ...only, recovered: 0, recoveredAmount: 0 }),
    "1 invoice failed, EUR 49.00, and your system did not recover it.",
  );
  const book = { currency: "EUR", invoices: 2, recovered: 1, amount: 9_800, recoveredAmount: 4_900, ways: [] };
  const seldom = { depth: 1, why: "few", effective: 1.2, unseen: 0 } as const;
  assert.match(
    judgedStrategyText({ words: "six even tries", count: seldom, money: seldom }, book),
    /weighs as much as 1 invoice, and 200 are needed/,
  );
  const moment = new Date(0);
  const none = {
    from: moment,
    to: moment,
    attempts: 2,
    leftOut: 0,
    problems: [],
    books: [],
    firstGaps: [],
    groups: [],
  };
  const tooYoung = (invoices: number) => assumptionsText({ ...none, chancesKnown: true, tooYoung: invoices }).at(-1);
  assert.equal(tooYoung(1), "1 failed invoice is left out because its 28 days were not over.");
  assert.equal(tooYoung(2_000), "2,000 failed invoices are left out because their 28 days were not over.");
});

test("columns that are not read are named: a code of declines that nobody mapped is missed by nobody", () => {
  const none = { from: new Date(0), to: new Date(0), attempts: 2, leftOut: 0, problems: [], books: [], tooYoung: 0 };
  const judged = { ...none, firstGaps: [], groups: [], chancesKnown: true };
  const over = (passedOver?: string[]) => leftOutText({ ...judged, ...(passedOver && { passedOver }) });
  assert.deepEqual(over(["Refusal", "", "Fee"]), [{ words: "Columns that are not read: Refusal, Fee.", problems: [] }]);
  assert.deepEqual([over([""]), over([]), over()], [[], [], []]);
  const unmet = leftOutText({ ...judged, unmet: ["AUTORISED"] });
  assert.deepEqual(unmet, [{ words: "Words of --states that no record has: AUTORISED.", problems: [] }]);
});

test("what customers paid themselves is said to be no retry's, with how many invoices are left out for it", () => {
  const none = { from: new Date(0), to: new Date(0), attempts: 2, leftOut: 0, problems: [], books: [], tooYoung: 0 };
  const judged = { ...none, firstGaps: [], groups: [], chancesKnown: true };
  const said = (paidBefore: number) => assumptionsText({ ...judged, paidBefore }).join(" ");
  assert.match(said(0), /paid before the first retry is left out\./);
  assert.match(said(1), /paid before the first retry is left out: 1 invoice\./);
  const silent = assumptionsText({ ...judged, paidBefore: 0, initiatorKnown: false }).join(" ");
  assert.match(
    silent,
    /does not say who made an attempt \(initiator\), so what customers paid by themselves is taken for/,
  );
  assert.doesNotMatch(silent, /are no retries/);
  assert.doesNotMatch(
    assumptionsText(judged).join(" "),
    /initiator/,
    "a report from before that judged them as retries",
  );
  assert.equal(
    noResultText({ ...judged, paidBefore: 2 }),
    "Nothing to judge: 2 invoices failed at first, and customers paid before the first retry.",
  );
});

const BOOK = { currency: "EUR", invoices: 2_000, recovered: 1_000, amount: 10_000_000, recoveredAmount: 5_000_000 };
const TOO_FEW = { depth: 1, why: "few", effective: 12, unseen: 0 } as const;

/** A way of which the history says that it recovers so much more, as a share of the money. */
function judgedStrategy(words: string, low: number, high: number): CurrencyResult["ways"][number] {
  const said = { difference: (low + high) / 2, differenceLow: low, differenceHigh: high };
  const money = { depth: 1, share: 0.5, low: 0.4, high: 0.6, ...said, effective: 900, unseen: 0 };
  return { name: words, words, count: money, money };
}
const strategyWithoutEstimate = (words: string): CurrencyResult["ways"][number] => ({
  name: words,
  words,
  count: TOO_FEW,
  money: TOO_FEW,
});

test("the short answer names the way that recovers more for sure, or says that none does, or that the history can't tell", () => {
  assert.equal(
    shortAnswerText({
      ...BOOK,
      ways: [
        judgedStrategy("a", -0.02, 0.01),
        judgedStrategy("b", 0.01, 0.03),
        judgedStrategy("c", 0.02, 0.025),
        strategyWithoutEstimate("d"),
      ],
    }),
    "Another way would have recovered more: c, for the first retry, EUR 2,000.00 to EUR 2,500.00 more than your system, of EUR 100,000.00 that failed. So would 1 other way.",
  );
  assert.equal(
    shortAnswerText({
      ...BOOK,
      ways: [judgedStrategy("a", -0.02, 0.01), judgedStrategy("b", -0.03, -0.01), strategyWithoutEstimate("d")],
    }),
    "No way is sure to have recovered more than your system: of the 2 that could be judged, 1 would have recovered less, and of 1 it can't be told. 1 could not be judged.",
  );
  assert.equal(
    shortAnswerText({ ...BOOK, ways: [strategyWithoutEstimate("a")] }),
    "This history can't tell whether another way would have recovered more: your system did too seldom what others would have done. An experiment can.",
  );
});

test("ways that choose alike as far as the history tells are named once", () => {
  const ways = [
    judgedStrategy("days 1 and 3", -0.02, 0.01),
    judgedStrategy("days 1 and 5", -0.02, 0.01),
    judgedStrategy("day 2", -0.03, -0.01),
  ];
  assert.deepEqual(
    indistinguishableText({ ...BOOK, ways: [...ways, strategyWithoutEstimate("a"), strategyWithoutEstimate("b")] }),
    [
      'The figures of "days 1 and 3" and "days 1 and 5" are the same: they choose alike for the first retry, and no more was judged.',
    ],
  );
});

test("where invoices can be compared and their money can't, what is said is said of invoices alone", () => {
  const { count } = judgedStrategy("", -0.02, 0.01);
  const words = judgedStrategyText({ words: "six even tries", count, money: TOO_FEW }, { ...BOOK, ways: [] });
  assert.match(
    words,
    / Of invoices, whatever their amount, it would have recovered [\d.]+% to [\d.]+% with the first retry, your system [\d.]+%\.$/,
  );
  const counted = { name: "even", words: "six even tries", count, money: TOO_FEW } as const;
  assert.match(
    shortAnswerText({ ...BOOK, ways: [counted] }),
    /^This history can't tell whether another way would have recovered more money: /,
  );
  assert.match(words, /^Six even tries: cannot say of the money\. Your system did the same too seldom/);
  const nothing = judgedStrategyText(
    { words: "six even tries", count: TOO_FEW, money: TOO_FEW },
    { ...BOOK, ways: [] },
  );
  assert.match(nothing, /^Six even tries: cannot say\. /);
  assert.doesNotMatch(nothing, /Of invoices/);
  assert.ok(isEstimate(count));
  const deeper = { ...count, depth: 2 };
  assert.deepEqual(
    [
      basisText({ money: TOO_FEW, count }),
      basisText({ money: deeper, count }),
      basisText({ money: TOO_FEW, count: TOO_FEW }),
    ],
    ["first retry; as much as 900 invoices", "first 2 retries; as much as 900 invoices", ""],
  );
});

test("where nothing can be said of a way, the retries that it would take are named", () => {
  const missing = { choice: 6, wanted: 0.41, made: 0.002 };
  assert.match(
    judgedStrategyText({ words: "six even tries", count: TOO_FEW, money: TOO_FEW, missing }, { ...BOOK, ways: [] }),
    /200 are needed\. What it lacks most are first retries after 7 to 9 days: this way makes them for 41\.0% of the invoices, your system for 0\.2%\.$/,
  );
});

test("where too few invoices failed for any comparison that is said once, and not of each way", () => {
  const ways = [strategyWithoutEstimate("a"), strategyWithoutEstimate("b")];
  assert.deepEqual(strategiesText({ ...BOOK, invoices: 199, ways }), [
    "Too few to judge another way by: 200 are needed at least.",
  ]);
  assert.equal(strategiesText({ ...BOOK, invoices: 200, ways }).length, 2);
  assert.match(
    strategiesText({ ...BOOK, invoices: 199, ways: [judgedStrategy("a", 0, 0.1)] }).join(" "),
    /^A, for the first retry/,
  );
});
