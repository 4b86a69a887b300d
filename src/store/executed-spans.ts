/** From the first to before the second moment, in text that PostgreSQL reads; empty when they are the same. */
export type Span = readonly [from: string, to: string];

/** A range of time as whole months, the days beside them, and what is left at the edges. Every moment of it lies in exactly one. */
export interface ExecutedSpans {
  months: Span;
  days: readonly [Span, Span];
  edges: readonly [Span, Span];
}

const DAY_MS = 86_400_000;
const EMPTY: Span = ["-infinity", "-infinity"];

/**
 * Take the range from `from` (inclusive) to `to` (exclusive) apart, in UTC, so that only its edges must be counted one by one.
 *
 * @param from, to  null: without an end on this side
 */
export function executedSpans(from: Date | null, to: Date | null): ExecutedSpans {
  if (from && to && from >= to) return { months: EMPTY, days: [EMPTY, EMPTY], edges: [EMPTY, EMPTY] };
  const firstDay = from && dayFrom(from);
  const lastDay = to && dayOf(to);
  if (firstDay && lastDay && firstDay > lastDay)
    return { months: EMPTY, days: [EMPTY, EMPTY], edges: [span(from, to), EMPTY] };
  const edges: [Span, Span] = [from ? span(from, firstDay) : EMPTY, to ? span(lastDay, to) : EMPTY];
  const firstMonth = firstDay && monthFrom(firstDay);
  const lastMonth = lastDay && monthOf(lastDay);
  if (firstMonth && lastMonth && firstMonth > lastMonth)
    return { months: EMPTY, days: [span(firstDay, lastDay), EMPTY], edges };
  return {
    months: span(firstMonth, lastMonth),
    days: [firstDay ? span(firstDay, firstMonth) : EMPTY, lastDay ? span(lastMonth, lastDay) : EMPTY],
    edges,
  };
}

const span = (from: Date | null, to: Date | null): Span => [
  from?.toISOString() ?? "-infinity",
  to?.toISOString() ?? "infinity",
];

const dayOf = (at: Date) => new Date(Math.floor(at.getTime() / DAY_MS) * DAY_MS);
const dayFrom = (at: Date) => new Date(Math.ceil(at.getTime() / DAY_MS) * DAY_MS);
const monthOf = (day: Date) => new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth()));

function monthFrom(day: Date): Date {
  const month = monthOf(day);
  return month < day ? new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1)) : month;
}
