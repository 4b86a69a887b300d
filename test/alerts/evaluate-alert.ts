import assert from "node:assert/strict";
import type { Expression, Matcher } from "./alert-expression.ts";
import { type Labels, type Scrape, type Series, seriesOf } from "./scrapes.ts";

/** A value with its labels. */
export interface VectorElement {
  labels: Labels;
  value: number;
}
type QueryValue = number | VectorElement[];

/** How far Prometheus looks back for the last sample of a series that is still scraped. */
const LOOKBACK_MS = 5 * 60_000;

/** Evaluates an expression at a time as Prometheus does, except that `rate` and `increase` do not extrapolate to the ends of their range. */
export function evaluate(expression: Expression, scrapes: readonly Scrape[], atMs: number): VectorElement[] {
  const value = evaluateExpression(expression, scrapes, atMs);
  assert.ok(typeof value !== "number", "an alert is no number alone");
  return value;
}

function evaluateExpression(expression: Expression, scrapes: readonly Scrape[], atMs: number): QueryValue {
  const of = (each: Expression) => evaluateExpression(each, scrapes, atMs);
  switch (expression.kind) {
    case "number":
      return expression.value;
    case "selector": {
      assert.equal(expression.rangeMs, null, "a range stands within a function");
      return evaluateInstant(expression.name, expression.matchers, scrapes, atMs);
    }
    case "aggregate":
      return evaluateAggregate(expression.name, expression.by, assertVector(of(expression.of)));
    case "binary":
      return evaluateBinary(expression.sign, of(expression.left), of(expression.right));
    case "call":
      return evaluateCall(expression, scrapes, atMs);
  }
}

function assertVector(value: QueryValue): VectorElement[] {
  assert.ok(typeof value !== "number", "a vector is needed");
  return value;
}

function isMatch({ label, sign, value }: Matcher, labels: Labels): boolean {
  const actual = labels[label] ?? "";
  if (sign === "=~") return new RegExp(`^(?:${value})$`).test(actual);
  return (actual === value) === (sign === "=");
}

const findSeries = (name: string, matchers: readonly Matcher[], scrapes: readonly Scrape[]): Series[] =>
  seriesOf(scrapes, name).filter(({ labels }) => matchers.every((each) => isMatch(each, labels)));

/** A series ends when the last scrape of its instance no longer has it. */
function evaluateInstant(
  name: string,
  matchers: readonly Matcher[],
  scrapes: readonly Scrape[],
  atMs: number,
): VectorElement[] {
  return findSeries(name, matchers, scrapes).flatMap(({ labels, samples }) => {
    const last = samples.findLast((sample) => sample.atMs <= atMs);
    const scrape = scrapes.findLast((each) => each.instance === labels.instance && each.atMs <= atMs);
    const isThere = last && last.atMs === scrape!.atMs && last.atMs > atMs - LOOKBACK_MS;
    return isThere ? [{ labels, value: last.value }] : [];
  });
}

function evaluateCall(expression: Expression & { kind: "call" }, scrapes: readonly Scrape[], atMs: number): QueryValue {
  const { name, args } = expression;
  const [first, second] = args;
  if (name === "vector") return [{ labels: {}, value: evaluateExpression(first!, scrapes, atMs) as number }];
  if (name === "histogram_quantile")
    return evaluateQuantiles(
      evaluateExpression(first!, scrapes, atMs) as number,
      assertVector(evaluateExpression(second!, scrapes, atMs)),
    );
  if (name === "abs")
    return assertVector(evaluateExpression(first!, scrapes, atMs)).map(({ labels, value }) => ({
      labels,
      value: Math.abs(value),
    }));
  assert.ok(first?.kind === "selector" && first.rangeMs !== null, `${name} takes a range`);
  const { rangeMs } = first;
  return findSeries(first.name, first.matchers, scrapes).flatMap(({ labels, samples }) => {
    const within = samples.filter((sample) => sample.atMs > atMs - rangeMs && sample.atMs <= atMs);
    if (name === "max_over_time")
      return within.length === 0 ? [] : [{ labels, value: Math.max(...within.map(({ value }) => value)) }];
    if (within.length < 2) return [];
    // A counter that is lower than before has restarted.
    const grown = within
      .slice(1)
      .reduce((sum, { value }, n) => sum + value - (value < within[n]!.value ? 0 : within[n]!.value), 0);
    return [{ labels, value: name === "rate" ? grown / (rangeMs / 1_000) : grown }];
  });
}

const keyOf = (labels: Labels) => JSON.stringify(Object.entries(labels).sort());
const pickLabels = (labels: Labels, names: readonly string[]): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => names.includes(name)));

function evaluateAggregate(name: "sum" | "max" | "min", by: readonly string[], all: VectorElement[]): VectorElement[] {
  const groups = Map.groupBy(all, ({ labels }) => keyOf(pickLabels(labels, by)));
  return [...groups.values()].map((group) => {
    const values = group.map(({ value }) => value);
    const value = name === "sum" ? values.reduce((sum, each) => sum + each, 0) : Math[name](...values);
    return { labels: pickLabels(group[0]!.labels, by), value };
  });
}

function evaluateBinary(sign: string, left: QueryValue, right: QueryValue): QueryValue {
  if (sign === "or" || sign === "and") {
    const [a, b] = [assertVector(left), assertVector(right)];
    const has = (all: VectorElement[], { labels }: VectorElement) =>
      all.some((each) => keyOf(each.labels) === keyOf(labels));
    return sign === "and" ? a.filter((each) => has(b, each)) : [...a, ...b.filter((each) => !has(a, each))];
  }
  const pairs = assertVector(left).flatMap((element) => {
    if (typeof right === "number") return [{ element, other: right }];
    const other = right.find(({ labels }) => keyOf(labels) === keyOf(element.labels));
    return other ? [{ element, other: other.value }] : [];
  });
  if (sign === "/") return pairs.map(({ element: { labels, value }, other }) => ({ labels, value: value / other }));
  const holds = (value: number, other: number) =>
    sign === "==" ? value === other : sign === ">" ? value > other : value < other;
  return pairs.filter(({ element, other }) => holds(element.value, other)).map(({ element }) => element);
}

/** Computes quantiles of the histograms of these buckets, interpolated linearly within each bucket. */
function evaluateQuantiles(quantile: number, buckets: VectorElement[]): VectorElement[] {
  const names = (labels: Labels) => Object.keys(labels).filter((name) => name !== "le");
  const groups = Map.groupBy(buckets, ({ labels }) => keyOf(pickLabels(labels, names(labels))));
  return [...groups.values()].flatMap((group) => {
    const bounds = group
      .map(({ labels, value }) => ({ le: labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le), value }))
      .sort((a, b) => a.le - b.le);
    const all = bounds.at(-1)!.value;
    if (all === 0) return [];
    const rank = quantile * all;
    const at = bounds.findIndex(({ value }) => value >= rank);
    const [below, bound] = [bounds[at - 1] ?? { le: 0, value: 0 }, bounds[at]!];
    const value =
      bound.le === Number.POSITIVE_INFINITY
        ? below.le
        : below.le + ((bound.le - below.le) * (rank - below.value)) / (bound.value - below.value);
    return [{ labels: pickLabels(group[0]!.labels, names(group[0]!.labels)), value }];
  });
}
