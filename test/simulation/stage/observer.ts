import { type Database, prepared } from "../../../src/postgres/database.ts";
import type { StatementGate } from "./statement-gate.ts";

/** Reads the database from outside: queues like every actor, but without faults. */
export type Observe = <Row = Record<string, unknown>>(sql: string, values?: readonly unknown[]) => Promise<Row[]>;

export const createObserver =
  (db: Database, gate: StatementGate): Observe =>
  async <Row>(sql: string, values?: readonly unknown[]) => {
    await gate.enter("observer");
    try {
      return (await db.run<Row>(prepared(`observe_${sql.length}_${hashOf(sql)}`, sql), values)).rows;
    } finally {
      gate.leave();
    }
  };

function hashOf(text: string) {
  let hash = 7;
  for (let index = 0; index < text.length; index++) hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0;
  return (hash >>> 0).toString(36);
}
