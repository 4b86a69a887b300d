import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { executedSpans, type Span } from "./executed-spans.ts";

const at = (text: string) => new Date(text);

test("a range is taken apart into whole months, whole days and edges", () => {
  assert.deepEqual(executedSpans(at("2026-01-30T12:00:00Z"), at("2026-04-02T06:00:00Z")), {
    months: ["2026-02-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z"],
    days: [
      ["2026-01-31T00:00:00.000Z", "2026-02-01T00:00:00.000Z"],
      ["2026-04-01T00:00:00.000Z", "2026-04-02T00:00:00.000Z"],
    ],
    edges: [
      ["2026-01-30T12:00:00.000Z", "2026-01-31T00:00:00.000Z"],
      ["2026-04-02T00:00:00.000Z", "2026-04-02T06:00:00.000Z"],
    ],
  });
});

const MONTHS = [-1, 0, 1, 2, 3, 4].map((month) => Date.UTC(2026, month));
const HOUR_MS = 3_600_000;
/** Beginnings of months and days, and moments right beside them and anywhere, are all likely. */
const moment = fc
  .tuple(fc.constantFrom(...MONTHS), fc.constantFrom(0, 24, 48, 13, 700), fc.constantFrom(-1, 0, 1, 12_345))
  .map(([month, hours, ms]) => new Date(month + hours * HOUR_MS + ms));
const orNone = fc.option(moment, { nil: null });

test("every moment of a range lies in exactly one of its spans, and no other moment in any", () => {
  const holds = ([from, to]: Span, ms: number) => bound(from) <= ms && ms < bound(to);
  const bound = (text: string) =>
    text.endsWith("infinity") ? Number(text.replace("infinity", "Infinity")) : Date.parse(text);
  fc.assert(
    fc.property(orNone, orNone, moment, (from, to, some) => {
      fc.pre(from !== null || to !== null);
      const { months, days, edges } = executedSpans(from, to);
      const inside = (from === null || from <= some) && (to === null || some < to);
      const spans = [months, ...days, ...edges].filter((span) => holds(span, some.getTime()));
      assert.equal(spans.length, inside ? 1 : 0);
      for (const [start] of [months, ...days])
        if (Number.isFinite(bound(start))) assert.equal(bound(start) % (24 * HOUR_MS), 0);
    }),
    { numRuns: 2_000 },
  );
});
