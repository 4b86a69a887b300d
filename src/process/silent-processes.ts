import type { ProcessRow } from "../tables/processes.ts";

/** A process not seen for this long was killed, hangs, or cannot reach the database. */
export const SILENT_AFTER_MS = 20_000;
/** After a longer gap, the checking process was cut off itself, and the others may have been, too. */
const MAX_CHECK_GAP_MS = SILENT_AFTER_MS / 2;

export interface SilenceDetector {
  /**
   * Takes all current rows.
   *
   * @param now  real time
   */
  update(rows: readonly ProcessRow[], now: Date): { silenced: ProcessRow[]; returned: ProcessRow[] };
  isSilent(row: ProcessRow): boolean;
}

/** After a database outage, every process gets `SILENT_AFTER_MS` to be seen before it counts as silent. */
export function createSilenceDetector(monotonicMs: () => number): SilenceDetector {
  const silent = new Set<string>();
  let lastCheckMs: number | null = null;
  let graceUntilMs = Number.NEGATIVE_INFINITY;
  return {
    update(rows, now) {
      const nowMs = monotonicMs();
      if (lastCheckMs !== null && nowMs - lastCheckMs > MAX_CHECK_GAP_MS) graceUntilMs = nowMs + SILENT_AFTER_MS;
      lastCheckMs = nowMs;
      const isQuiet = ({ seenAt }: ProcessRow) => now.getTime() - seenAt.getTime() >= SILENT_AFTER_MS;
      const silenced = rows.filter((row) => nowMs >= graceUntilMs && isQuiet(row) && !silent.has(row.id));
      const returned = rows.filter((row) => !isQuiet(row) && silent.has(row.id));
      for (const { id } of silenced) silent.add(id);
      for (const { id } of returned) silent.delete(id);
      const currentIds = new Set(rows.map(({ id }) => id));
      for (const id of silent) if (!currentIds.has(id)) silent.delete(id);
      return { silenced, returned };
    },
    isSilent: ({ id }) => silent.has(id),
  };
}
