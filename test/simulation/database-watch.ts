import type { Invoice } from "../../src/domain/invoice.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Transaction } from "../../src/domain/transaction.ts";
import type { RecordKindName, StoredRecord } from "./actors/record-conversion.ts";
import { type Journal, recordViolation, type WireRequest } from "./journal.ts";
import type { Observe } from "./stage/observer.ts";

/** Observes the database during the year, for checks that its final state cannot show. */
export interface DatabaseWatch {
  onRequest(request: WireRequest): Promise<void>;
  onDecided(): Promise<void>;
  onAcknowledged(kind: RecordKindName, records: readonly StoredRecord[]): Promise<void>;
  onRestart(): Promise<void>;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** After failed attempt 1, 2, …, from its end. */
const DELAYS_MS = [100, 5 * SECOND, 15 * SECOND, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE];

const REQUESTED = `select e.body, e.type, e.created_at as "createdAt", count(a.*)::int as attempts,
    max(a.ended_at) as "lastEndedAt", coalesce(bool_or(a.success), false) as delivered
  from events e left join delivery_attempts a on a.merchant_id = e.merchant_id and a.event_id = e.id
  where e.merchant_id = $1 and e.id = $2 group by e.body, e.type, e.created_at`;
interface Requested {
  body: string;
  type: string;
  createdAt: Date;
  attempts: number;
  lastEndedAt: Date | null;
  delivered: boolean;
}

export function createDatabaseWatch(
  observe: Observe,
  merchant: Merchant,
  journal: Journal,
  nowMs: () => number,
): DatabaseWatch {
  /** Invoices that an acknowledged record reports as out of recovery, and whether as paid. */
  const over = new Map<string, "paid" | "lost">();
  const statuses = new Map<string, string>();
  const seenEvents = new Set<string>();
  let statusesFrom = new Date(0);
  let eventsFrom = new Date(0);

  async function onRequest(request: WireRequest) {
    const { eventId, invoiceId, startMs } = request;
    const [event] = await observe<Requested>(REQUESTED, [merchant.id, eventId]);
    if (!event) return recordViolation(journal, "I6", `event ${eventId} was sent and is not stored`, invoiceId);
    if (event.body !== request.body)
      recordViolation(journal, "I6", `event ${eventId} was sent with another body`, invoiceId);
    if (event.delivered) recordViolation(journal, "I4", `event ${eventId} was sent after a recorded 2xx`, invoiceId);
    const attemptsMax = event.type === "recovery_action" ? 6 : 7;
    if (event.attempts >= attemptsMax)
      recordViolation(journal, "I4", `event ${eventId} was sent after ${event.attempts} ended attempts`, invoiceId);
    const last = journal.wire.findLast((one) => one.eventId === eventId && one !== request && one.endMs !== null);
    const fromMs = event.attempts === 0 ? event.createdAt.getTime() : (last?.endMs ?? event.lastEndedAt!.getTime());
    const earliestMs = fromMs + (event.attempts === 0 ? 0 : DELAYS_MS[event.attempts - 1]!);
    // An unrecorded end does not count: the same number is attempted again at once.
    const isRepetition = last !== undefined && event.lastEndedAt?.getTime() !== last.endMs;
    if (startMs < earliestMs && !isRepetition)
      recordViolation(
        journal,
        "I5",
        `event ${eventId}, attempt ${event.attempts + 1} began ${earliestMs - startMs} ms early`,
        invoiceId,
      );
    if (event.lastEndedAt && startMs < event.lastEndedAt.getTime() + DELAYS_MS[event.attempts - 1]!)
      recordViolation(
        journal,
        "I5",
        `event ${eventId}, attempt ${event.attempts + 1} began before its time`,
        invoiceId,
      );
  }

  async function onDecided() {
    const overBefore = new Map(over);
    const events = await observe<{ id: string; invoiceId: string; type: string; createdAt: Date; queued: boolean }>(
      `select e.id, e.invoice_id as "invoiceId", e.type, e.created_at as "createdAt", d.event_id is not null as queued
       from events e left join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
       where e.merchant_id = $1 and e.created_at >= $2 order by e.created_at`,
      [merchant.id, eventsFrom],
    );
    for (const { id, invoiceId, type, createdAt, queued } of events) {
      eventsFrom = createdAt;
      if (seenEvents.has(id)) continue;
      seenEvents.add(id);
      const end = overBefore.get(invoiceId);
      if (queued && (end === "paid" || (end === "lost" && type !== "complete_dunning")))
        recordViolation(
          journal,
          "I7",
          `${type} ${id} was queued after the invoice was acknowledged as ${end}`,
          invoiceId,
        );
    }
    await noteStatuses();
  }

  async function noteStatuses() {
    const rows = await observe<{
      id: string;
      status: string;
      type: string;
      invoiceId: string;
      decided: boolean;
      updatedAt: Date;
    }>(
      `select id, status, type, invoice_id as "invoiceId", decided_at is not null as decided, updated_at as "updatedAt"
       from recovery_actions where merchant_id = $1 and updated_at >= $2 order by updated_at`,
      [merchant.id, statusesFrom],
    );
    for (const { id, status, type, invoiceId, decided, updatedAt } of rows) {
      statusesFrom = updatedAt;
      const name = status === "SCHEDULED" && !decided ? "PLANNED" : status;
      const from = statuses.get(id) ?? null;
      if (from === name) continue;
      statuses.set(id, name);
      journal.statuses.push({ atMs: nowMs(), actionId: id, from, to: name, type });
      if (!canFollow(from, name, type))
        recordViolation(journal, "status", `action ${id} (${type}) went from ${from} to ${name}`, invoiceId);
    }
  }

  async function onAcknowledged(kind: RecordKindName, records: readonly StoredRecord[]) {
    if (kind === "subscriptions") return;
    for (const record of records) {
      if (kind === "invoices" && (record as Invoice).state !== "UNPAID")
        over.set(record.id, (record as Invoice).state === "PAID" ? "paid" : "lost");
      const { state, invoiceId, amount } = record as Transaction;
      if (kind === "transactions" && state === "PAID" && amount > 0 && isKnownPaid(journal, invoiceId))
        over.set(invoiceId, "paid");
    }
    const paid = records
      .map((r) => (kind === "invoices" ? r.id : (r as Transaction).invoiceId))
      .filter((id) => over.has(id));
    if (paid.length === 0) return;
    const queued = await observe<{ id: string; type: string; invoiceId: string }>(
      `select e.id, e.type, e.invoice_id as "invoiceId" from events e
       join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
       where e.merchant_id = $1 and e.case_id in (select id from cases where merchant_id = $1 and invoice_id = any($2))`,
      [merchant.id, paid],
    );
    for (const { id, type, invoiceId } of queued) {
      const end = over.get(invoiceId);
      if (end === "paid" || type !== "complete_dunning")
        recordViolation(
          journal,
          "I7",
          `${type} ${id} is still queued after the invoice was acknowledged as ${end}`,
          invoiceId,
        );
    }
  }

  /** Checks I4: a crash may cost each event at most one unrecorded attempt. */
  async function onRestart() {
    const sent = Map.groupBy(journal.wire, ({ eventId }) => eventId);
    const rows = await observe<{ id: string; n: number }>(
      `select event_id as id, count(*)::int as n from delivery_attempts where merchant_id = $1 group by 1`,
      [merchant.id],
    );
    const recorded = new Map(rows.map(({ id, n }) => [id, n]));
    for (const [eventId, requests] of sent) {
      const known = journal.interruptions.get(eventId) ?? 0;
      const lost = requests.length - (recorded.get(eventId) ?? 0) - known;
      if (lost === 0) continue;
      journal.interruptions.set(eventId, known + lost);
      if (lost !== 1)
        recordViolation(
          journal,
          "I4",
          `a crash left event ${eventId} with ${lost} attempts unaccounted for`,
          requests[0]!.invoiceId,
        );
    }
  }

  return { onRequest, onDecided, onAcknowledged, onRestart };
}

/** An acknowledged payment ends only a case that Dunlin already had. */
const isKnownPaid = (journal: Journal, invoiceId: string) =>
  (journal.copies.get(`invoices ${invoiceId}`) ?? []).some(({ ackMs }) => ackMs !== null);

const STATUS_SUCCESSORS: Record<string, readonly string[]> = {
  PLANNED: ["SCHEDULED", "CANCELED"],
  SCHEDULED: ["SENT", "SUCCEEDED", "FAILED", "EXPIRED", "CANCELED", "DELIVERY_FAILED"],
  SENT: ["SUCCEEDED", "FAILED", "EXPIRED", "CANCELED"],
  // A PAID within 48 hours, or a transaction that names the action.
  FAILED: ["SUCCEEDED"],
  // A transaction that names the action always counts. One that reports the customer as initiator withdraws the success.
  EXPIRED: ["SUCCEEDED", "FAILED"],
  DELIVERY_FAILED: ["SUCCEEDED", "FAILED"],
  CANCELED: ["SUCCEEDED", "FAILED"],
  SUCCEEDED: ["FAILED", "CANCELED"],
};

function canFollow(from: string | null, to: string, type: string) {
  if (type === "CARD_CHANGE" && to === "FAILED") return false;
  if (from === null) return true;
  // A crash right after a commit can hide one step from the observer.
  const next = STATUS_SUCCESSORS[from] ?? [];
  return next.includes(to) || (from === "PLANNED" && next.some((between) => STATUS_SUCCESSORS[between]?.includes(to)));
}
