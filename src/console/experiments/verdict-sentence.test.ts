import assert from "node:assert/strict";
import { test } from "node:test";
import { type MeasureVerdict, verdictSentence } from "./verdict-sentence.ts";

const OUTCOMES = ["better", "worse", "alike", "open", "moving"] as const;
type Outcome = (typeof OUTCOMES)[number];

const sentence = (count: Outcome, ...money: [string, Outcome][]) =>
  verdictSentence(
    [
      { measure: "count", outcome: count },
      ...money.map(([measure, outcome]): MeasureVerdict => ({ measure, outcome })),
    ],
    0.03,
  );

test("the sentence says both verdicts when count and money agree", () => {
  const words: Record<Outcome, string> = {
    better: "Dunlin recovers more invoices and more money than your own retries.",
    worse: "Dunlin recovers fewer invoices and less money than your own retries.",
    alike: "There is no difference of 3.0 points or more in recovered invoices or recovered money.",
    open: "Whether Dunlin recovers more invoices or more money is not clear yet.",
    moving: "The difference in recovered invoices and recovered money changed during the experiment.",
  };
  for (const outcome of OUTCOMES) assert.equal(sentence(outcome, ["EUR", outcome]), words[outcome]);
});

test("the sentence says both verdicts for every combination of count and money", () => {
  const clauses: Record<Outcome, readonly [count: RegExp, money: RegExp]> = {
    better: [/Dunlin recovers more invoices\b/, /Dunlin recovers ([a-z]+ invoices, but )?more money\b/],
    worse: [
      /Dunlin recovers (more money, but )?fewer invoices\b/,
      /Dunlin recovers ([a-z]+ invoices, but )?less money\b/,
    ],
    alike: [
      /no difference of 3\.0 points or more in recovered invoices\b/,
      /no difference of 3\.0 points or more in recovered money\b/,
    ],
    open: [
      /whether Dunlin recovers more invoices is not clear yet/i,
      /whether Dunlin recovers more money is not clear yet/i,
    ],
    moving: [/difference in recovered invoices changed during/, /difference in recovered money changed during/],
  };
  for (const count of OUTCOMES)
    for (const money of OUTCOMES.filter((each) => each !== count)) {
      const words = sentence(count, ["EUR", money]);
      assert.match(words, clauses[count][0], `${count} ${money}`);
      assert.match(words, clauses[money][1], `${count} ${money}`);
      assert.match(words, /^[A-Z].*[^.]\.$/);
      // Clear results come first.
      if (money === "open" || count === "open") assert.match(words, /; whether Dunlin recovers .* not clear yet\.$/);
    }
});

test("opposite verdicts stand in one clause", () => {
  assert.equal(
    sentence("better", ["EUR", "worse"]),
    "Dunlin recovers more invoices, but less money than your own retries.",
  );
  assert.equal(
    sentence("worse", ["EUR", "better"]),
    "Dunlin recovers more money, but fewer invoices than your own retries.",
  );
});

test("each currency is named when there are several, and none when nothing is counted in money", () => {
  assert.equal(
    sentence("better", ["EUR", "better"], ["JPY", "open"], ["USD", "open"]),
    "Dunlin recovers more invoices and more money in EUR than your own retries; whether Dunlin recovers more money in JPY or more money in USD is not clear yet.",
  );
  assert.equal(sentence("open"), "Whether Dunlin recovers more invoices is not clear yet.");
});
