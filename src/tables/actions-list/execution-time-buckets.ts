import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";

/** How long the stretches are of which counts are kept: a month, a day, three hours; all begin in UTC. */
const COUNTED_BUCKETS = ["month", "day", "3h"] as const;
export type CountedBucket = (typeof COUNTED_BUCKETS)[number];

/** From the first to before the second moment, in text that PostgreSQL reads, and whether what lies there is added or taken away. */
export interface SignedSpan {
  from: string;
  to: string;
  sign: 1 | -1;
}

/** A range of time as whole months, days and three hours, and what is left at the edges: added up by their signs they hold each moment of it once, and no other. */
export interface ExecutedSpans {
  counted: readonly (SignedSpan & { kind: CountedBucket })[];
  edges: readonly SignedSpan[];
}

type Range = readonly [from: number, to: number];

/**
 * Take the range from `from` (inclusive) to `to` (exclusive) apart, in UTC, so that only its edges must be counted one by one: no more than an hour
 * and a half at each end. An end goes to the nearest beginning of a month, also beyond it, from there to that of a day, and of three hours: so a range
 * to the 28th is a month less three days, and no end takes more than sixteen days.
 *
 * @param from, to  null: without an end on this side
 */
export function splitExecutionRange(from: Date | null, to: Date | null): ExecutedSpans {
  const range: Range = [from?.getTime() ?? Number.NEGATIVE_INFINITY, to?.getTime() ?? Number.POSITIVE_INFINITY];
  if (range[0] >= range[1]) return { counted: [], edges: [] };
  const kept: ExecutedSpans["counted"][number][] = [];
  let counted: Range | null = null;
  for (const kind of COUNTED_BUCKETS) {
    const near: Range = [nearestBucketStart(kind, range[0]), nearestBucketStart(kind, range[1])];
    if (!counted && near[0] === near[1]) continue;
    kept.push(...spansBetween(counted, near).map((span) => ({ ...span, kind })));
    counted = near;
  }
  return { counted: kept, edges: spansBetween(counted, range) };
}

/** What has to be added to one range, or taken away, so that it is the other. */
function spansBetween(counted: Range | null, wanted: Range): SignedSpan[] {
  if (!counted) return toSpans(wanted[0], wanted[1]);
  return [...toSpans(wanted[0], counted[0]), ...toSpans(counted[1], wanted[1])];
}

function toSpans(from: number, to: number): SignedSpan[] {
  if (from === to) return [];
  return from < to
    ? [{ from: timeText(from), to: timeText(to), sign: 1 }]
    : [{ from: timeText(to), to: timeText(from), sign: -1 }];
}

/** The beginning of a stretch that is nearest to a moment. */
function nearestBucketStart(kind: CountedBucket, ms: number): number {
  if (!Number.isFinite(ms)) return ms;
  const [begins, ends] = bucketRangeOf(kind, ms);
  return ms - begins <= ends - ms ? begins : ends;
}

/** The stretch in which a moment lies. */
function bucketRangeOf(kind: CountedBucket, ms: number): Range {
  if (kind !== "month") {
    const long = kind === "day" ? DAY_MS : 3 * HOUR_MS;
    const begins = Math.floor(ms / long) * long;
    return [begins, begins + long];
  }
  const at = new Date(ms);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return [Date.UTC(year, month), Date.UTC(year, month + 1)];
}

const timeText = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : ms < 0 ? "-infinity" : "infinity");
