import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { executedSpans, type Span } from "./executed-spans.ts";

const at = (text: string) => new Date(text);

test("a range is taken apart into whole months, days, three hours and edges", () => {
  const text = (spans: readonly Span[]) => spans.map(([from, to]) => `${from.slice(5, 16)} ${to.slice(5, 16)}`);
  const { month, day, "3h": hours, edges } = executedSpans(at("2026-01-30T13:30:00Z"), at("2026-04-02T06:20:00Z"));
  assert.deepEqual(text(month), ["02-01T00:00 04-01T00:00"]);
  assert.deepEqual(text(day), ["01-31T00:00 02-01T00:00", "04-01T00:00 04-02T00:00"]);
  assert.deepEqual(text(hours), ["01-30T15:00 01-31T00:00", "04-02T00:00 04-02T06:00"]);
  assert.deepEqual(text(edges), ["01-30T13:30 01-30T15:00", "04-02T06:00 04-02T06:20"]);
});

const MONTHS = [-1, 0, 1, 2, 3, 4].map((month) => Date.UTC(2026, month));
const HOUR_MS = 3_600_000;
/** Beginnings of months and days, and moments right beside them and anywhere, are all likely. */
const moment = fc
  .tuple(fc.constantFrom(...MONTHS), fc.constantFrom(0, 3, 24, 48, 13, 700), fc.constantFrom(-1, 0, 1, 12_345))
  .map(([month, hours, ms]) => new Date(month + hours * HOUR_MS + ms));
const orNone = fc.option(moment, { nil: null });

test("every moment of a range lies in exactly one of its spans, and no other moment in any", () => {
  const holds = ([from, to]: Span, ms: number) => bound(from) <= ms && ms < bound(to);
  const bound = (text: string) =>
    text.endsWith("infinity") ? Number(text.replace("infinity", "Infinity")) : Date.parse(text);
  fc.assert(
    fc.property(orNone, orNone, moment, (from, to, some) => {
      fc.pre(from !== null || to !== null);
      const { month, day, "3h": hours, edges } = executedSpans(from, to);
      const inside = (from === null || from <= some) && (to === null || some < to);
      const spans = [...month, ...day, ...hours, ...edges].filter((span) => holds(span, some.getTime()));
      assert.equal(spans.length, inside ? 1 : 0);
      const begin = (span: Span, hours: number) => {
        for (const each of span.map(bound).filter(Number.isFinite)) assert.equal(each % (hours * HOUR_MS), 0);
      };
      for (const span of [...month, ...day]) begin(span, 24);
      for (const span of hours) begin(span, 3);
      for (const span of month)
        assert.ok(
          span.every((each) => /infinity|-01T00:00:00/.test(each)),
          `${span}`,
        );
      const longest = edges.map(([start, end]) => (start === end ? 0 : bound(end) - bound(start)));
      for (const ms of longest) assert.ok(ms < 6 * HOUR_MS, `${ms} ms are counted one by one`);
    }),
    { numRuns: 2_000 },
  );
});
