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

test("the summary of a currency has formatted counts and amounts", () => {
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
    "12,345 invoices failed (EUR 50,000.00 in total). Your system recovered 1,234 of them (10.0%): EUR 5,000.00, 10.0% of the money.",
  );
});

test("the texts use the singular for one invoice", () => {
  const only = { currency: "EUR", invoices: 1, amount: 4_900, ways: [] };
  assert.equal(
    currencySummaryText({ ...only, recovered: 1, recoveredAmount: 4_900 }),
    "1 invoice failed (EUR 49.00), and your system recovered it.",
  );
  assert.equal(
    currencySummaryText({ ...only, recovered: 0, recoveredAmount: 0 }),
    "1 invoice failed (EUR 49.00), and your system did not recover it.",
  );
  const book = { currency: "EUR", invoices: 2, recovered: 1, amount: 9_800, recoveredAmount: 4_900, ways: [] };
  const tooFew = { depth: 1, why: "few", effective: 1.2, unseen: 0 } as const;
  assert.match(
    judgedStrategyText({ words: "six evenly spaced retries", count: tooFew, money: tooFew }, book),
    /the effective sample is 1 invoice, and 200 are needed/,
  );
  const none = {
    from: new Date(0),
    to: new Date(0),
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

test("ignored columns are named", () => {
  const none = { from: new Date(0), to: new Date(0), attempts: 2, leftOut: 0, problems: [], books: [], tooYoung: 0 };
  const judged = { ...none, firstGaps: [], groups: [], chancesKnown: true };
  const textWith = (passedOver?: string[]) => leftOutText({ ...judged, ...(passedOver && { passedOver }) });
  assert.deepEqual(textWith(["Refusal", "", "Fee"]), [
    { words: "Ignored columns (no matching field): Refusal, Fee.", problems: [] },
  ]);
  assert.deepEqual([textWith([""]), textWith([]), textWith()], [[], [], []]);
  const unused = leftOutText({ ...judged, unmet: ["AUTORISED"] });
  assert.deepEqual(unused, [{ words: "Unused words in --states (no record has them): AUTORISED.", problems: [] }]);
});

test("the texts explain that payments by customers are no retries, and how many invoices are left out", () => {
  const none = { from: new Date(0), to: new Date(0), attempts: 2, leftOut: 0, problems: [], books: [], tooYoung: 0 };
  const judged = { ...none, firstGaps: [], groups: [], chancesKnown: true };
  const textWith = (paidBefore: number) => assumptionsText({ ...judged, paidBefore }).join(" ");
  assert.match(textWith(0), /paid before the first retry is left out\./);
  assert.match(textWith(1), /paid before the first retry is left out: 1 invoice\./);
  const withoutInitiator = assumptionsText({ ...judged, paidBefore: 0, initiatorKnown: false }).join(" ");
  assert.match(
    withoutInitiator,
    /does not say who made an attempt \(initiator\), so payments by customers count as retries/,
  );
  assert.doesNotMatch(withoutInitiator, /are no retries/);
  assert.doesNotMatch(assumptionsText(judged).join(" "), /initiator/, "an older report counted them as retries");
  assert.equal(
    noResultText({ ...judged, paidBefore: 2 }),
    "No strategy can be evaluated: 2 invoices failed at first, and customers paid before the first retry.",
  );
});

const BOOK = { currency: "EUR", invoices: 2_000, recovered: 1_000, amount: 10_000_000, recoveredAmount: 5_000_000 };
const TOO_FEW = { depth: 1, why: "few", effective: 12, unseen: 0 } as const;

/** Builds a strategy whose difference from the merchant's system lies in this range, as a share of the money. */
function judgedStrategy(words: string, low: number, high: number): CurrencyResult["ways"][number] {
  const range = { difference: (low + high) / 2, differenceLow: low, differenceHigh: high };
  const money = { depth: 1, share: 0.5, low: 0.4, high: 0.6, ...range, effective: 900, unseen: 0 };
  return { name: words, words, count: money, money };
}
const strategyWithoutEstimate = (words: string): CurrencyResult["ways"][number] => ({
  name: words,
  words,
  count: TOO_FEW,
  money: TOO_FEW,
});

test("the short answer names the strategy that recovers more, or says that none does or that the history cannot show it", () => {
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
    "Another strategy would have recovered more: c. For the first retry, it would have recovered EUR 2,000.00 to EUR 2,500.00 more than your system, of EUR 100,000.00 that failed. So would 1 other strategy.",
  );
  assert.equal(
    shortAnswerText({
      ...BOOK,
      ways: [judgedStrategy("a", -0.02, 0.01), judgedStrategy("b", -0.03, -0.01), strategyWithoutEstimate("d")],
    }),
    "No strategy is certain to have recovered more than your system. Of the 2 that could be evaluated, 1 would have recovered less, and 1 is unclear. 1 could not be evaluated.",
  );
  assert.equal(
    shortAnswerText({ ...BOOK, ways: [strategyWithoutEstimate("a")] }),
    "This history cannot show whether another strategy would have recovered more: your system rarely did what other strategies would have done. An experiment can.",
  );
});

test("strategies with the same figures are named once", () => {
  const ways = [
    judgedStrategy("days 1 and 3", -0.02, 0.01),
    judgedStrategy("days 1 and 5", -0.02, 0.01),
    judgedStrategy("day 2", -0.03, -0.01),
  ];
  assert.deepEqual(
    indistinguishableText({ ...BOOK, ways: [...ways, strategyWithoutEstimate("a"), strategyWithoutEstimate("b")] }),
    [
      '"days 1 and 3" and "days 1 and 5" have the same figures: they make the same choices for the first retry, and later retries could not be evaluated.',
    ],
  );
});

test("the text describes invoices when they can be compared and their money cannot", () => {
  const { count } = judgedStrategy("", -0.02, 0.01);
  const words = judgedStrategyText(
    { words: "six evenly spaced retries", count, money: TOO_FEW },
    { ...BOOK, ways: [] },
  );
  assert.match(
    words,
    / Counting invoices instead of money, it would have recovered [\d.]+% to [\d.]+% of them with the first retry; your system recovered [\d.]+%\.$/,
  );
  const counted = { name: "even", words: "six evenly spaced retries", count, money: TOO_FEW } as const;
  assert.match(
    shortAnswerText({ ...BOOK, ways: [counted] }),
    /^This history cannot show whether another strategy would have recovered more money: /,
  );
  assert.match(
    words,
    /^Six evenly spaced retries: no estimate for the money\. Your system rarely made the same choices/,
  );
  const noEstimate = judgedStrategyText(
    { words: "six evenly spaced retries", count: TOO_FEW, money: TOO_FEW },
    { ...BOOK, ways: [] },
  );
  assert.match(noEstimate, /^Six evenly spaced retries: no estimate\. /);
  assert.doesNotMatch(noEstimate, /Counting invoices/);
  assert.ok(isEstimate(count));
  const deeper = { ...count, depth: 2 };
  assert.deepEqual(
    [
      basisText({ money: TOO_FEW, count }),
      basisText({ money: deeper, count }),
      basisText({ money: TOO_FEW, count: TOO_FEW }),
    ],
    ["first retry; effective sample of 900 invoices", "first 2 retries; effective sample of 900 invoices", ""],
  );
});

test("the text names the retries that the history lacks when a strategy has no estimate", () => {
  const missing = { choice: 6, wanted: 0.41, made: 0.002 };
  assert.match(
    judgedStrategyText(
      { words: "six evenly spaced retries", count: TOO_FEW, money: TOO_FEW, missing },
      { ...BOOK, ways: [] },
    ),
    /200 are needed\. The history lacks mainly first retries after 7 to 9 days: this strategy makes them for 41\.0% of the invoices, your system for 0\.2%\.$/,
  );
});

test("a single explanation replaces those of the strategies when too few invoices failed", () => {
  const ways = [strategyWithoutEstimate("a"), strategyWithoutEstimate("b")];
  assert.deepEqual(strategiesText({ ...BOOK, invoices: 199, ways }), [
    "Too few invoices to evaluate another strategy: at least 200 are needed.",
  ]);
  assert.equal(strategiesText({ ...BOOK, invoices: 200, ways }).length, 2);
  assert.match(
    strategiesText({ ...BOOK, invoices: 199, ways: [judgedStrategy("a", 0, 0.1)] }).join(" "),
    /^A, for the first retry/,
  );
});
