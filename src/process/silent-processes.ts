import type { ProcessRow } from "../tables/processes.ts";

/** A process that has not been seen for this long was killed, hangs, or is cut off from the database. */
export const SILENT_AFTER_MS = 20_000;
/** Between two looks: after a longer gap the looker was cut off itself, and so may all others have been. */
const MAX_CHECK_GAP_MS = SILENT_AFTER_MS / 2;

/** Tells which processes are silent, as one of them sees it. */
export interface SilenceDetector {
  /** Takes over all rows that were just read, and returns those that fell silent, and those that are back. `now` is real time. */
  look(rows: readonly ProcessRow[], now: Date): { fell: ProcessRow[]; back: ProcessRow[] };
  isSilent(row: ProcessRow): boolean;
}

/** After an outage of the database, every process has `SILENT_AFTER_MS` to be seen again before it counts as silent. */
export function createSilenceDetector(monotonicMs: () => number): SilenceDetector {
  const silent = new Set<string>();
  let lookedMs: number | null = null;
  let graceUntilMs = Number.NEGATIVE_INFINITY;
  return {
    look(rows, now) {
      const nowMs = monotonicMs();
      if (lookedMs !== null && nowMs - lookedMs > MAX_CHECK_GAP_MS) graceUntilMs = nowMs + SILENT_AFTER_MS;
      lookedMs = nowMs;
      const isQuiet = ({ seenAt }: ProcessRow) => now.getTime() - seenAt.getTime() >= SILENT_AFTER_MS;
      const fell = rows.filter((row) => nowMs >= graceUntilMs && isQuiet(row) && !silent.has(row.id));
      const back = rows.filter((row) => !isQuiet(row) && silent.has(row.id));
      for (const { id } of fell) silent.add(id);
      for (const { id } of back) silent.delete(id);
      const known = new Set(rows.map(({ id }) => id));
      for (const id of silent) if (!known.has(id)) silent.delete(id);
      return { fell, back };
    },
    isSilent: ({ id }) => silent.has(id),
  };
}
