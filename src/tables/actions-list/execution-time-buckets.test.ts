import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HOUR_MS } from "../../domain/durations.ts";
import { type SignedSpan, splitExecutionRange } from "./execution-time-buckets.ts";

const at = (text: string) => new Date(text);

test("a range is split into months, days, three-hour buckets and edges, each end at the nearest boundary", () => {
  const text = ({ sign, from, to }: SignedSpan) => `${sign < 0 ? "-" : "+"} ${from.slice(5, 16)} ${to.slice(5, 16)}`;
  const { counted, edges } = splitExecutionRange(at("2026-01-30T13:30:00Z"), at("2026-04-02T06:20:00Z"));
  assert.deepEqual(
    counted.map((span) => `${span.kind} ${text(span)}`),
    [
      "month + 02-01T00:00 04-01T00:00",
      "day + 01-31T00:00 02-01T00:00",
      "day + 04-01T00:00 04-02T00:00",
      "3h + 01-30T12:00 01-31T00:00",
      "3h + 04-02T00:00 04-02T06:00",
    ],
  );
  assert.deepEqual(edges.map(text), ["- 01-30T12:00 01-30T13:30", "+ 04-02T06:00 04-02T06:20"]);
});

test("a range that ends near the end of a month is a whole month minus some days", () => {
  const { counted } = splitExecutionRange(at("2026-01-01T00:00:00Z"), at("2026-01-29T00:00:00Z"));
  assert.deepEqual(
    counted.map(({ kind, sign }) => ({ kind, sign })),
    [
      { kind: "month", sign: 1 },
      { kind: "day", sign: -1 },
    ],
  );
});

const MONTHS = [-1, 0, 1, 2, 3, 4].map((month) => Date.UTC(2026, month));
/** Starts of months and days, times right beside them, and any other times are all likely. */
const anyTimeMs = fc
  .tuple(fc.constantFrom(...MONTHS), fc.constantFrom(0, 3, 24, 48, 13, 370, 700), fc.constantFrom(-1, 0, 1, 12_345))
  .map(([month, hours, ms]) => new Date(month + hours * HOUR_MS + ms));
const anyTimeOrNull = fc.option(anyTimeMs, { nil: null });
const boundMs = (text: string) =>
  text.endsWith("infinity") ? Number(text.replace("infinity", "Infinity")) : Date.parse(text);

test("every time of a range counts once by the signs of its spans, and no other time counts", () => {
  fc.assert(
    fc.property(anyTimeOrNull, anyTimeOrNull, anyTimeMs, (from, to, some) => {
      fc.pre(from !== null || to !== null);
      const { counted, edges } = splitExecutionRange(from, to);
      const inside = (from === null || from <= some) && (to === null || some < to);
      const held = [...counted, ...edges].filter((span) => boundMs(span.from) <= +some && +some < boundMs(span.to));
      assert.equal(
        held.reduce((sum, { sign }) => sum + sign, 0),
        inside ? 1 : 0,
      );
    }),
    { numRuns: 4_000 },
  );
});

test("spans match stored buckets, and the edges and the days beside whole months are short", () => {
  fc.assert(
    fc.property(anyTimeOrNull, anyTimeOrNull, (from, to) => {
      fc.pre(from !== null || to !== null);
      const { counted, edges } = splitExecutionRange(from, to);
      const hoursOf = (spans: readonly SignedSpan[]) =>
        spans.reduce((sum, span) => sum + (boundMs(span.to) - boundMs(span.from)) / HOUR_MS, 0);
      for (const { kind, from, to } of counted)
        for (const each of [from, to].map(boundMs).filter(Number.isFinite)) {
          assert.equal(each % ((kind === "3h" ? 3 : 24) * HOUR_MS), 0);
          if (kind === "month") assert.equal(new Date(each).getUTCDate(), 1);
        }
      assert.ok(hoursOf(edges) <= 3);
      assert.ok(hoursOf(counted.filter(({ kind }) => kind === "3h")) <= 24);
      assert.ok(hoursOf(counted.filter(({ kind }) => kind === "day")) <= 32 * 24);
    }),
    { numRuns: 2_000 },
  );
});
