import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { analyzeTable, findGrownTables } from "../postgres/analyze-tables.ts";
import type { Connection, Database } from "../postgres/database.ts";
import { startLoop } from "./loop.ts";

/** The plans of a table that fills up are bad for no longer. */
const CHECK_INTERVAL_MS = 1_000;
/** What was read rests for so long, whatever came of it: an emptied queue keeps its size for a while. */
const TABLE_COOLDOWN_MS = 10_000;
const ANALYZE_TIMEOUT_MS = 60_000;

/**
 * Reads statistics anew of tables that fill up: see `findGrownTables`. On a connection of its own, which nobody else waits for, and opened after
 * the first second: most commands are over by then.
 *
 * @returns what stops it; a reading under way is cut off
 */
export function startAutoAnalyze(owner: Database, { monotonicMs }: Ports, log: Log): () => Promise<void> {
  const readMs = new Map<string, number>();
  let connection: Connection | null = null;
  let isFirst = true;
  let stopped = false;

  async function look() {
    if (isFirst) {
      isFirst = false;
      return CHECK_INTERVAL_MS;
    }
    connection ??= await connected();
    for (const [table, ms] of readMs) if (monotonicMs() - ms > TABLE_COOLDOWN_MS) readMs.delete(table);
    for (const table of await findGrownTables(connection, [...readMs.keys()])) {
      readMs.set(table, monotonicMs());
      await analyzeTable(connection, table);
      log.info({ table }, "statistics.read");
    }
    return CHECK_INTERVAL_MS;
  }

  async function connected() {
    const opened = await owner.connect(ANALYZE_TIMEOUT_MS);
    opened.onLost(() => {
      if (connection === opened) connection = null;
    });
    if (stopped) await opened.close();
    return opened;
  }

  const loop = startLoop("statistics", log, async () => {
    try {
      return await look();
    } catch (error) {
      // The next look begins anew. A table that can't be read now rests, and the others have their turn.
      await connection?.close().catch(() => {});
      connection = null;
      if (stopped) return CHECK_INTERVAL_MS;
      throw error;
    }
  });
  return () => {
    stopped = true;
    void connection?.close().catch(() => {});
    return loop.stop();
  };
}
