import type { Case } from "../../src/domain/case.ts";
import type { EventType } from "../../src/domain/event.ts";
import type { RecoveryAction } from "../../src/domain/recovery-action.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import type { RecordKindName, StoredRecord } from "./actors/record-conversion.ts";

export type StoredAction = Pick<
  RecoveryAction,
  | "id"
  | "caseId"
  | "invoiceId"
  | "customerId"
  | "transactionId"
  | "type"
  | "status"
  | "idealRetryTime"
  | "decidedAt"
  | "createdAt"
>;

export interface StoredEvent {
  id: string;
  caseId: string;
  invoiceId: string;
  type: EventType;
  body: string;
  createdAt: Date;
  withdrawnAt: Date | null;
}

export interface StoredAttempt {
  eventId: string;
  round: number;
  number: number;
  startedAt: Date;
  endedAt: Date;
  success: boolean;
  ends: "delivered" | "exhausted" | null;
  status: number | null;
}

export type StoredCase = Case & { dueAt: Date | null };

/** All of the merchant's data in Dunlin, read by the test's own statements. */
export interface StoredState {
  cases: StoredCase[];
  actions: StoredAction[];
  events: StoredEvent[];
  attempts: StoredAttempt[];
  queued: { eventId: string }[];
  records: Record<RecordKindName, Map<string, StoredRecord>>;
}

const columns = (fields: string) =>
  fields
    .split(" ")
    .map((field) => `${field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)} as "${field}"`)
    .join(", ");

const CASES = `select ${columns("id invoiceId customerId unpaidAt windowEndsAt endedAt endReason paidAt openedAt")},
  (select due_at from due_cases d where d.merchant_id = cases.merchant_id and d.case_id = cases.id) as "dueAt" from cases`;
const ACTIONS = `select ${columns("id caseId invoiceId customerId transactionId type status idealRetryTime decidedAt createdAt")}
  from recovery_actions`;
const EVENTS = `select ${columns("id caseId invoiceId type body createdAt withdrawnAt")} from events`;
const ATTEMPTS = `select ${columns("eventId round number startedAt endedAt success ends status")} from delivery_attempts`;

export async function readStoredState(db: Database, merchantId: string): Promise<StoredState> {
  const read = async <Row>(select: string, order: string) =>
    (await db.run<Row>(prepared("", `${select} where merchant_id = $1 order by ${order}`), [merchantId])).rows;
  const records = async (kind: RecordKindName) => {
    const rows = await read<Record<string, unknown>>(`select * from ${kind}`, "id");
    return new Map(rows.map(toRecord).map((record) => [record.id, record]));
  };
  return {
    cases: await read(CASES, "opened_at, id"),
    actions: await read(ACTIONS, "created_at, id"),
    events: await read(EVENTS, "created_at, id"),
    attempts: await read(ATTEMPTS, "started_at, round, number"),
    queued: await read(`select event_id as "eventId" from deliveries`, "event_id"),
    records: {
      subscriptions: await records("subscriptions"),
      transactions: await records("transactions"),
      invoices: await records("invoices"),
    },
  };
}

/** Columns that the service adds to a record. */
const SERVICE_COLUMNS = new Set(["merchant_id", "was_in_recovery"]);

function toRecord(row: Record<string, unknown>): StoredRecord {
  const entries = Object.entries(row)
    .filter(([name, value]) => !SERVICE_COLUMNS.has(name) && value !== null)
    .map(([name, value]) => [name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()), value]);
  return Object.fromEntries(entries) as StoredRecord;
}
