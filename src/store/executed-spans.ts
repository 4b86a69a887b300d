import { DAY_MS, HOUR_MS } from "../domain/durations.ts";

/** How long the stretches are of which counts are kept: a month, a day, three hours; all begin in UTC. */
const KEPT_SPANS = ["month", "day", "3h"] as const;
export type KeptSpan = (typeof KEPT_SPANS)[number];

/** From the first to before the second moment, in text that PostgreSQL reads, and whether what lies there is added or taken away. */
export interface Span {
  from: string;
  to: string;
  sign: 1 | -1;
}

/** A range of time as whole months, days and three hours, and what is left at the edges: added up by their signs they hold each moment of it once, and no other. */
export interface ExecutedSpans {
  kept: readonly (Span & { kind: KeptSpan })[];
  edges: readonly Span[];
}

type Range = readonly [from: number, to: number];

/**
 * Take the range from `from` (inclusive) to `to` (exclusive) apart, in UTC, so that only its edges must be counted one by one: no more than an hour
 * and a half at each end. An end goes to the nearest beginning of a month, also beyond it, from there to that of a day, and of three hours: so a range
 * to the 28th is a month less three days, and no end takes more than sixteen days.
 *
 * @param from, to  null: without an end on this side
 */
export function executedSpans(from: Date | null, to: Date | null): ExecutedSpans {
  const range: Range = [from?.getTime() ?? Number.NEGATIVE_INFINITY, to?.getTime() ?? Number.POSITIVE_INFINITY];
  if (range[0] >= range[1]) return { kept: [], edges: [] };
  const kept: ExecutedSpans["kept"][number][] = [];
  let counted: Range | null = null;
  for (const kind of KEPT_SPANS) {
    const near: Range = [nearest(kind, range[0]), nearest(kind, range[1])];
    if (!counted && near[0] === near[1]) continue;
    kept.push(...between(counted, near).map((span) => ({ ...span, kind })));
    counted = near;
  }
  return { kept, edges: between(counted, range) };
}

/** What has to be added to one range, or taken away, so that it is the other. */
function between(counted: Range | null, wanted: Range): Span[] {
  if (!counted) return spans(wanted[0], wanted[1]);
  return [...spans(wanted[0], counted[0]), ...spans(counted[1], wanted[1])];
}

function spans(from: number, to: number): Span[] {
  if (from === to) return [];
  return from < to
    ? [{ from: textOf(from), to: textOf(to), sign: 1 }]
    : [{ from: textOf(to), to: textOf(from), sign: -1 }];
}

/** The beginning of a stretch that is nearest to a moment. */
function nearest(kind: KeptSpan, ms: number): number {
  if (!Number.isFinite(ms)) return ms;
  const [begins, ends] = stretchOf(kind, ms);
  return ms - begins <= ends - ms ? begins : ends;
}

/** The stretch in which a moment lies. */
function stretchOf(kind: KeptSpan, ms: number): Range {
  if (kind !== "month") {
    const long = kind === "day" ? DAY_MS : 3 * HOUR_MS;
    const begins = Math.floor(ms / long) * long;
    return [begins, begins + long];
  }
  const at = new Date(ms);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return [Date.UTC(year, month), Date.UTC(year, month + 1)];
}

const textOf = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : ms < 0 ? "-infinity" : "infinity");
