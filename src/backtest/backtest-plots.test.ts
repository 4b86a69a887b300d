import assert from "node:assert/strict";
import { test } from "node:test";
import { drawDifferencePlot } from "./backtest-plots.ts";
import type { Estimate } from "./estimate.ts";

const judged = (differenceLow: number, differenceHigh: number): Estimate => {
  const difference = (differenceLow + differenceHigh) / 2;
  const range = { difference, differenceLow, differenceHigh, share: 0.5, low: 0.4, high: 0.6 };
  return { depth: 1, effective: 1000, unseen: 0, ...range };
};

/** The numbers at the axis of a plot of such an estimate, and how far they are from each other, in percent of its width. */
function axis(low: number, high: number) {
  const money = judged(low, high);
  const way = { name: "fixed", words: "days 1, 3, 5 and 7", count: money, money };
  const book = { currency: "EUR", invoices: 2, recovered: 1, amount: 200, recoveredAmount: 100, ways: [way] };
  const labels = [...drawDifferencePlot(book).matchAll(/class="axis" x="([\d.]+)%"[^>]*>([^<]+)</g)];
  return { words: labels.map(([, , text]) => text!), apart: Number(labels[1]![1]) - Number(labels[0]![1]) };
}

test("an axis has few numbers, round ones, that stand clear of each other", () => {
  assert.deepEqual(axis(-0.085, 0.02).words, ["−10", "−5", "0", "+5", "+10"]);
  assert.deepEqual(axis(-0.003, 0.012).words, ["−1.5", "−1", "−0.5", "0", "+0.5", "+1", "+1.5"]);
  for (let reach = 0.01; reach < 1; reach *= 1.07) {
    const { words, apart } = axis(-reach, reach / 2);
    assert.ok(words.length >= 3 && words.length <= 7, `${reach}: ${words.join(" ")}`);
    assert.equal(new Set(words).size, words.length);
    assert.ok(apart > 14, `${reach}: ${apart} between two`);
  }
});
