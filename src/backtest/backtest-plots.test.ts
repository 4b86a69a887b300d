import assert from "node:assert/strict";
import { test } from "node:test";
import { drawDifferencePlot } from "./backtest-plots.ts";
import type { Estimate } from "./estimate.ts";

const judged = (differenceLow: number, differenceHigh: number): Estimate => {
  const difference = (differenceLow + differenceHigh) / 2;
  const range = { difference, differenceLow, differenceHigh, share: 0.5, low: 0.4, high: 0.6 };
  return { depth: 1, effective: 1000, unseen: 0, ...range };
};

/** Returns the labels of the axis, and their distance in percent of the width. */
function axis(low: number, high: number) {
  const money = judged(low, high);
  const strategy = { name: "fixed", words: "days 1, 3, 5 and 7", count: money, money };
  const book = { currency: "EUR", invoices: 2, recovered: 1, amount: 200, recoveredAmount: 100, ways: [strategy] };
  const labels = [...drawDifferencePlot(book).matchAll(/class="axis" x="([\d.]+)%"[^>]*>([^<]+)</g)];
  return { texts: labels.map(([, , text]) => text!), distance: Number(labels[1]![1]) - Number(labels[0]![1]) };
}

test("an axis has few round labels with enough distance", () => {
  assert.deepEqual(axis(-0.085, 0.02).texts, ["−10", "−5", "0", "+5", "+10"]);
  assert.deepEqual(axis(-0.003, 0.012).texts, ["−1.5", "−1", "−0.5", "0", "+0.5", "+1", "+1.5"]);
  for (let reach = 0.01; reach < 1; reach *= 1.07) {
    const { texts, distance } = axis(-reach, reach / 2);
    assert.ok(texts.length >= 3 && texts.length <= 7, `${reach}: ${texts.join(" ")}`);
    assert.equal(new Set(texts).size, texts.length);
    assert.ok(distance > 14, `${reach}: ${distance} between two`);
  }
});
