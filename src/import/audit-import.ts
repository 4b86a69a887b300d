import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import type { KindName } from "./record-kinds.ts";

interface ImportSummary {
  kind: KindName;
  /** Without its folder. */
  file: string;
  /** That were stored. */
  rows: number;
  /** Of them, those of which the same or a newer copy was there. */
  known: number;
  /** False when rows of the file were left out. */
  whole: boolean;
}

/** Write down who imported what. */
export const auditImport = (db: Database, merchantId: string, actor: Actor, done: ImportSummary, ports: Ports) => {
  const { kind, file, rows, known, whole } = done;
  const details = { rows, "known before": known, file, ...(whole ? {} : { "whole file": "no" }) };
  return writeAuditEntry(db, merchantId, actor, { deed: "history.imported", object: kind, details }, ports);
};
