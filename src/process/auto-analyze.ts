import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { analyzeTable, findGrownTables } from "../postgres/analyze-tables.ts";
import type { Connection, Database } from "../postgres/database.ts";
import { startLoop } from "./loop.ts";

/** A growing table has bad plans for at most this long. */
const CHECK_INTERVAL_MS = 1_000;
/** Pause after reading a table, even without success: an emptied queue keeps its size for a while. */
const TABLE_COOLDOWN_MS = 10_000;
const ANALYZE_TIMEOUT_MS = 60_000;

/**
 * Analyzes tables that have grown since their last statistics. Opens its own connection after a second, because most
 * commands have ended by then.
 *
 * @returns stops the loop and cancels a running ANALYZE
 */
export function startAutoAnalyze(owner: Database, { monotonicMs }: Ports, log: Log): () => Promise<void> {
  const analyzedMs = new Map<string, number>();
  let connection: Connection | null = null;
  let isFirst = true;
  let isStopped = false;

  async function analyzeGrown() {
    if (isFirst) {
      isFirst = false;
      return CHECK_INTERVAL_MS;
    }
    connection ??= await openConnection();
    for (const [table, ms] of analyzedMs) if (monotonicMs() - ms > TABLE_COOLDOWN_MS) analyzedMs.delete(table);
    for (const table of await findGrownTables(connection, [...analyzedMs.keys()])) {
      analyzedMs.set(table, monotonicMs());
      await analyzeTable(connection, table);
      log.info({ table }, "statistics.read");
    }
    return CHECK_INTERVAL_MS;
  }

  async function openConnection() {
    const opened = await owner.connect(ANALYZE_TIMEOUT_MS);
    opened.onLost(() => {
      if (connection === opened) connection = null;
    });
    if (isStopped) await opened.close();
    return opened;
  }

  const loop = startLoop("statistics", log, async () => {
    try {
      return await analyzeGrown();
    } catch (error) {
      // A table that cannot be read pauses, so the others get their turn.
      await connection?.close().catch(() => {});
      connection = null;
      if (isStopped) return CHECK_INTERVAL_MS;
      throw error;
    }
  });
  return () => {
    isStopped = true;
    void connection?.close().catch(() => {});
    return loop.stop();
  };
}
