import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";

/** In UTC. */
const COUNTED_BUCKETS = ["month", "day", "3h"] as const;
export type CountedBucket = (typeof COUNTED_BUCKETS)[number];

/** `from` inclusive, `to` exclusive, as PostgreSQL text. */
export interface SignedSpan {
  from: string;
  to: string;
  sign: 1 | -1;
}

/** The signed spans cover each time once. */
export interface ExecutedSpans {
  counted: readonly (SignedSpan & { kind: CountedBucket })[];
  edges: readonly SignedSpan[];
}

type Range = readonly [from: number, to: number];

/**
 * Moves each end to the nearest start of a month, even beyond the range, then of a day, then of three hours. At most 90 minutes
 * at each end remain to be counted one by one.
 *
 * @param from  inclusive; null: no lower bound
 * @param to  exclusive; null: no upper bound
 */
export function splitExecutionRange(from: Date | null, to: Date | null): ExecutedSpans {
  const range: Range = [from?.getTime() ?? Number.NEGATIVE_INFINITY, to?.getTime() ?? Number.POSITIVE_INFINITY];
  if (range[0] >= range[1]) return { counted: [], edges: [] };
  const countedSpans: ExecutedSpans["counted"][number][] = [];
  let counted: Range | null = null;
  for (const kind of COUNTED_BUCKETS) {
    const near: Range = [nearestBucketStart(kind, range[0]), nearestBucketStart(kind, range[1])];
    if (!counted && near[0] === near[1]) continue;
    countedSpans.push(...spansBetween(counted, near).map((span) => ({ ...span, kind })));
    counted = near;
  }
  return { counted: countedSpans, edges: spansBetween(counted, range) };
}

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

function nearestBucketStart(kind: CountedBucket, ms: number): number {
  if (!Number.isFinite(ms)) return ms;
  const [start, end] = bucketRangeOf(kind, ms);
  return ms - start <= end - ms ? start : end;
}

function bucketRangeOf(kind: CountedBucket, ms: number): Range {
  if (kind !== "month") {
    const lengthMs = kind === "day" ? DAY_MS : 3 * HOUR_MS;
    const start = Math.floor(ms / lengthMs) * lengthMs;
    return [start, start + lengthMs];
  }
  const at = new Date(ms);
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return [Date.UTC(year, month), Date.UTC(year, month + 1)];
}

const timeText = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : ms < 0 ? "-infinity" : "infinity");
