/** From the first to before the second moment, in text that PostgreSQL reads; empty when they are the same. */
export type Span = readonly [from: string, to: string];

/** How long the stretches are of which counts are kept: a month, a day, three hours; all begin in UTC. */
export const KEPT_SPANS = ["month", "day", "3h"] as const;
export type KeptSpan = (typeof KEPT_SPANS)[number];

/** A range of time as whole months, the days beside them, the three hours beside these, and what is left at the edges. Every moment of it lies in exactly one. */
export interface ExecutedSpans extends Record<KeptSpan, readonly Span[]> {
  edges: readonly Span[];
}

const HOUR_MS = 3_600_000;
const EMPTY: Span = ["-infinity", "-infinity"];
type Range = readonly [from: number, to: number];

/**
 * Take the range from `from` (inclusive) to `to` (exclusive) apart, in UTC, so that only its edges must be counted one by one.
 *
 * @param from, to  null: without an end on this side
 * @returns one span of months, two of each other kind
 */
export function executedSpans(from: Date | null, to: Date | null): ExecutedSpans {
  const bounds: Range = [from?.getTime() ?? Number.NEGATIVE_INFINITY, to?.getTime() ?? Number.POSITIVE_INFINITY];
  if (bounds[0] >= bounds[1])
    return { month: [EMPTY], day: [EMPTY, EMPTY], "3h": [EMPTY, EMPTY], edges: [EMPTY, EMPTY] };
  const month = inner(bounds, "month");
  const day = inside(bounds, month, "day");
  const hours = inside(bounds, day.all, "3h");
  const edges = hours.all ? [span(bounds[0], hours.all[0]), span(hours.all[1], bounds[1])] : [span(...bounds), EMPTY];
  return { month: [month ? span(...month) : EMPTY], day: day.spans, "3h": hours.spans, edges };
}

/** What lies in whole stretches of `bounds` beside what lies in longer ones, and all of it together. */
function inside(bounds: Range, longer: Range | null, kind: KeptSpan) {
  const all = inner(bounds, kind);
  if (!all) return { all, spans: [EMPTY, EMPTY] };
  if (!longer) return { all, spans: [span(...all), EMPTY] };
  return { all, spans: [span(all[0], longer[0]), span(longer[1], all[1])] };
}

/** The whole stretches within a range; null when not even a beginning of one lies in it. */
function inner([from, to]: Range, kind: KeptSpan): Range | null {
  const first = startOf(kind, from);
  const begins = first < from ? startOf(kind, first + LONGEST_MS[kind]) : first;
  const ends = startOf(kind, to);
  return begins <= ends ? [begins, ends] : null;
}

const LONGEST_MS: Readonly<Record<KeptSpan, number>> = {
  month: 31 * 24 * HOUR_MS,
  day: 24 * HOUR_MS,
  "3h": 3 * HOUR_MS,
};

/** When the stretch began in which a moment lies. */
function startOf(kind: KeptSpan, ms: number): number {
  if (!Number.isFinite(ms)) return ms;
  if (kind !== "month") return Math.floor(ms / LONGEST_MS[kind]) * LONGEST_MS[kind];
  const at = new Date(ms);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
}

const span = (from: number, to: number): Span => [textOf(from), textOf(to)];
const textOf = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : ms < 0 ? "-infinity" : "infinity");
