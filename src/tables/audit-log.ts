import type { Actor } from "../domain/person.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** Without secrets. */
export interface AuditEntry {
  id: string;
  /** Service time. */
  at: Date;
  personId: string | null;
  actor: string;
  /** `noun.verb`, such as key.created. */
  operation: string;
  /** For people. */
  object: string;
  details: Record<string, unknown>;
  address: string | null;
}

const INSERT = prepared(
  "insert_audited",
  `insert into audit_log (merchant_id, id, at, person_id, actor, deed, object, details, address)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);

/** In the recorded change's transaction. */
export async function writeAuditEntry(
  tx: Tx,
  merchantId: string,
  actor: Actor,
  change: Pick<AuditEntry, "operation" | "object"> & { details?: Record<string, unknown> },
  ports: { now(): Date; newId(): string },
) {
  const { operation, object, details = {} } = change;
  const values = [actor.personId, actor.name, operation, object, JSON.stringify(details), actor.address];
  await tx.run(INSERT, [merchantId, ports.newId(), ports.now(), ...values]);
}

const ALLOW_ERASURE = prepared("say_erasing", "select set_config('dunlin.erasing', 'on', true)");
const REDACT = prepared(
  "redact_audited",
  `update audit_log set object = 'erased', details = '{}'
   where merchant_id = $1 and deed in ('recovery.stopped', 'recovery.retried', 'recovery.postponed', 'delivery.replayed') and object = any($2::text[])`,
);

/** Needs the table owner's transaction. */
export async function allowErasure(tx: Tx) {
  await tx.run(ALLOW_ERASURE);
}

/** Actor, operation and time stay. Needs the table owner's transaction. */
export async function redactAuditEntries(tx: Tx, merchantId: string, ids: readonly string[]) {
  await allowErasure(tx);
  await tx.run(REDACT, [merchantId, ids]);
}

/** A request about an invoice's recovery, made in the console, by a key or by a command. */
export interface PersonsRequest {
  kind: "stopped" | "retried" | "postponed";
  at: Date;
  actor: string;
  /** Of a postponement; null: not stored, or another request. */
  until: Date | null;
}

// Ids are ordered by time, so the primary key skips all entries before the case.
const REQUESTS = prepared(
  "list_persons_requests",
  `select at, actor, split_part(deed, '.', 2) as kind, details ->> 'until' as until from audit_log
   where merchant_id = $1 and id > $3 and object = $2
     and deed in ('recovery.stopped', 'recovery.retried', 'recovery.postponed')
   order by id`,
);

/**
 * Lists what people, keys and commands requested for an invoice, oldest first.
 *
 * @param caseId  the invoice's first case: earlier entries are not read
 */
export async function listPersonsRequests(tx: Tx, merchantId: string, invoiceId: string, caseId: string) {
  type Row = Omit<PersonsRequest, "until"> & { until: string | null };
  const { rows } = await tx.run<Row>(REQUESTS, [merchantId, invoiceId, caseId]);
  return rows.map((row): PersonsRequest => ({ ...row, until: row.until === null ? null : new Date(row.until) }));
}

export interface AuditFilter {
  actor?: string | undefined;
  /** `key`: all operations on keys. */
  noun?: string | undefined;
  before?: string | undefined;
}

const LIST = prepared(
  "list_audited",
  `select id, at, person_id as "personId", actor, deed as operation, object, details, address from audit_log
   where merchant_id = $1 and ($2::text is null or actor = $2) and ($3::text is null or deed like $3 || '.%')
     and ($4::uuid is null or id < $4)
   order by id desc limit $5`,
);

/** Newest first. */
export async function listAuditEntries(tx: Tx, merchantId: string, filter: AuditFilter, limit: number) {
  const values = [merchantId, filter.actor ?? null, filter.noun ?? null, filter.before ?? null, limit];
  return (await tx.run<AuditEntry>(LIST, values)).rows;
}
