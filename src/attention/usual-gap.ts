import { DAY_MS, HOUR_MS } from "../domain/durations.ts";

/** Before the last push. Two weeks hold two weekends. */
export const OBSERVED_HOURS = 14 * 24;
const PUSHES_MIN = 20;
/** A merchant that bills once a month has no usual gap. */
const ACTIVE_DAYS_MIN = 7;
const SILENCE_FACTOR = 2;

export interface PushHistory {
  /** In the observed hours; may be cut off at 100. */
  pushes: number;
  /** Whether records arrived in each observed hour, oldest first. */
  hours: readonly boolean[];
}

/**
 * Returns the usual longest gap between pushes in milliseconds, or null if there is too little history. It is the second longest
 * in two weeks, because the longest may have been an outage, while a quiet weekend occurs twice.
 */
export function usualGapMs({ pushes, hours }: PushHistory): number | null {
  const activeDays = new Set(hours.flatMap((isActive, hour) => (isActive ? [Math.floor(hour / 24)] : [])));
  if (pushes < PUSHES_MIN || activeDays.size < ACTIVE_DAYS_MIN) return null;
  const [, second = 0] = listSilentHours(hours).sort((a, b) => b - a);
  // The pushes around the silent hours may be almost an hour further apart.
  return (second + 1) * HOUR_MS;
}

function listSilentHours(hours: readonly boolean[]): number[] {
  const lengths: number[] = [];
  let length = 0;
  for (const isActive of [...hours, true]) {
    if (!isActive) length++;
    else if (length > 0) {
      lengths.push(length);
      length = 0;
    }
  }
  return lengths;
}

/** A shorter silence never shows a fault. */
export const SILENCE_MIN_MS = SILENCE_FACTOR * HOUR_MS;

/** Whether a silence is far longer than usual. */
export const isTooLong = (silenceMs: number, gapMs: number): boolean => silenceMs > SILENCE_FACTOR * gapMs;

/** A merchant that pushed nothing for so long has stopped on purpose. */
export const SILENCE_MAX_MS = 30 * DAY_MS;
