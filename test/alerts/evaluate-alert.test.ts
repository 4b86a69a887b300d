import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExpression } from "./alert-expression.ts";
import { evaluate } from "./evaluate-alert.ts";
import type { Scrape } from "./scrapes.ts";

const MINUTE = 60_000;
/** Evaluates over scrapes a minute apart, at the time of the last one. */
const evaluateTexts = (expr: string, ...texts: (string | null)[]) => {
  const scrapes: Scrape[] = texts.map((text, n) => ({ instance: "a", atMs: n * MINUTE, text }));
  return evaluate(parseExpression(expr), scrapes, (texts.length - 1) * MINUTE).map(({ value }) => value);
};

test("a counter that restarts has grown by its new value, and an increase needs two samples", () => {
  assert.deepEqual(evaluateTexts("sum(increase(c[5m]))", "c 10", "c 14", "c 3"), [7]);
  assert.deepEqual(evaluateTexts("sum(rate(c[1m]))", "c 1", "c 7", "c 60"), []);
  assert.deepEqual(evaluateTexts("sum(rate(c[2m]))", "c 1", "c 7", "c 67"), [0.5]);
  assert.deepEqual(evaluateTexts("max_over_time(c[5m])", "c 9", "c 2"), [9]);
});

test("a series ends when its instance no longer reports it, and up reports whether the instance answers", () => {
  assert.deepEqual(evaluateTexts("max(g) > 0", "g 1", "h 1"), []);
  assert.deepEqual(evaluateTexts('up{job="dunlin"} == 0', "g 1", null), [0]);
  assert.deepEqual(evaluateTexts('up{job="dunlin"} == 0', "g 1"), []);
});

test("labels are matched, grouped and joined as in PromQL", () => {
  const text = 'g{s="500",m="x"} 1\ng{s="502",m="x"} 2\ng{s="200",m="y"} 4';
  assert.deepEqual(evaluateTexts('sum(g{s=~"5.."})', text), [3]);
  assert.deepEqual(evaluateTexts('sum by (m) (g{s!="500"})', text), [2, 4]);
  assert.deepEqual(evaluateTexts("(sum(nothing) or vector(0)) < 64", text), [0]);
  assert.deepEqual(evaluateTexts("sum(g) > 6 and sum(nothing) > 0", text), []);
  assert.deepEqual(evaluateTexts('sum(g{s=~"5.."}) / sum(g) > 0.4', text), [3 / 7]);
});

test("a quantile lies in its bucket, and equals the lower bound in the last one", () => {
  const buckets = (low: number, high: number, all: number) =>
    `b_bucket{le="1"} ${low}\nb_bucket{le="5"} ${high}\nb_bucket{le="+Inf"} ${all}`;
  const expr = "histogram_quantile(0.5, sum by (le) (rate(b_bucket[5m])))";
  assert.deepEqual(evaluateTexts(expr, buckets(0, 0, 0), buckets(1, 9, 10)), [3]);
  assert.deepEqual(evaluateTexts(expr.replace("0.5", "0.99"), buckets(0, 0, 0), buckets(1, 9, 10)), [5]);
});

test("expressions that the rules do not use are refused", () => {
  for (const expr of ["avg(g)", "g offset 5m", "g[5m] > 0", "deriv(g[5m])", "sum(g", "g ^ 2", "sum without (m) (g)"])
    assert.throws(() => evaluateTexts(expr, "g 1"), expr);
});
