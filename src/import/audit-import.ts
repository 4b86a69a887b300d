import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import type { KindName } from "./record-kinds.ts";

interface ImportSummary {
  kind: KindName;
  file: string;
  rows: number;
  /** Rows that were stored already, in the same or a newer version. */
  known: number;
  whole: boolean;
}

export const auditImport = (db: Database, merchantId: string, actor: Actor, summary: ImportSummary, ports: Ports) => {
  const { kind, file, rows, known, whole } = summary;
  const details = { rows, "known before": known, file, ...(whole ? {} : { "whole file": "no" }) };
  return writeAuditEntry(db, merchantId, actor, { operation: "history.imported", object: kind, details }, ports);
};
