import assert from "node:assert/strict";
import { test } from "node:test";
import { drawBarPlot, drawDotPlot, drawLinePlot } from "./plots.ts";

const AXES = { xLabel: "payments", formatX: String, yLabel: "dollars", formatY: String };
const numbersOf = (svg: string, pattern: RegExp) => [...svg.matchAll(pattern)].map(([, number]) => Number(number));

test("labels at the ends of lines do not overlap when all lines end at the same height", () => {
  for (const end of [0, 500, 1000]) {
    const lines = Array.from({ length: 8 }, (_, n) => ({
      name: `line ${n}`,
      color: "other" as const,
      points: [
        { x: 0, y: 0 },
        { x: 10, y: n === 0 ? 1000 : end },
      ],
    }));
    const heights = numbersOf(drawLinePlot("Lines", lines, AXES), /<text class="name other" x="[\d.]+" y="([\d.]+)"/g);
    assert.equal(heights.length, 8);
    heights.sort((a, b) => a - b);
    for (let n = 1; n < 8; n++) assert.ok(heights[n]! - heights[n - 1]! >= 15, heights.join(" "));
    assert.ok(heights[0]! > 15 && heights[7]! < 300, heights.join(" "));
  }
});

test("a line can go below zero, and zero has its own line", () => {
  const points = [
    { x: 0, y: 0 },
    { x: 1, y: -30 },
  ];
  const svg = drawLinePlot("Below", [{ name: "ahead", color: "first", points }], AXES);
  const [zero] = numbersOf(svg, /<line class="zero"[^>]* y1="([\d.]+)"/g);
  const last = svg.match(/ ([\d.]+),([\d.]+)"\/>/)!;
  assert.ok(Number(last[2]) > zero!);
});

test("a dot of a calibrated prediction is on the diagonal", () => {
  const points = [0.1, 0.6].map((predicted) => ({ predicted, observed: predicted, margin: 0.5, share: 0.5 }));
  const svg = drawDotPlot("Dots", [{ name: "warm", color: "first", points }], AXES);
  const [x1, y1, x2, y2] = svg
    .match(/<line class="zero" x1="([\d.]+)" y1="([\d.]+)" x2="([\d.]+)" y2="([\d.]+)" stroke/)!
    .slice(1)
    .map(Number);
  const dots = [...svg.matchAll(/<circle class="dot first" cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+"\/><?/g)].slice(0, 2);
  assert.equal(dots.length, 2);
  for (const [, x, y] of dots)
    assert.ok(Math.abs((Number(x) - x1!) / (x2! - x1!) - (Number(y) - y1!) / (y2! - y1!)) < 0.01);
  // The margin ends at 0 and 1.
  const margins = [...svg.matchAll(/<line class="luck first"[^>]* y1="([\d.]+)" y2="([\d.]+)"/g)];
  const [[below, to], [from, above]] = margins.map(([, ...ends]) => ends.map(Number)) as [number[], number[]];
  assert.deepEqual([margins.length, below, above], [2, y1, y2]);
  assert.ok(to! > y2! && to! < y1! && from! > y2! && from! < y1!, `${to} ${from}`);
});

test("names and notes are escaped", () => {
  const svg = drawBarPlot("<b>", [{ label: "<i>", size: 1, note: "1 & 2", innerSize: 0.5 }]);
  assert.doesNotMatch(svg, /<[bi]>/);
  assert.match(svg, /1 &amp; 2/);
});
