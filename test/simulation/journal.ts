import type { RecordKindName, StoredRecord } from "./actors/record-conversion.ts";

/** A request that reached the wire, as the world saw it. */
export interface WireRequest {
  eventId: string;
  invoiceId: string;
  body: string;
  path: string;
  /** The life of the process that made it. */
  life: number;
  startMs: number;
  /** Null: nobody heard an answer. */
  endMs: number | null;
  /** Null: no status line came. */
  status: number | null;
  /** The merchant took it, whatever was answered. */
  handled: boolean;
}

/** A record that was pushed: when for the first time, and when it was acknowledged. */
export interface PushedRecord {
  kind: RecordKindName;
  record: StoredRecord;
  firstMs: number;
  ackMs: number | null;
}

/** A change of a listed action, as a reader of the list saw it. */
export interface StatusChange {
  atMs: number;
  actionId: string;
  from: string | null;
  to: string;
  type: string;
}

/** What the outside knows: kept apart from the database that is checked against it. */
export interface Journal {
  wire: WireRequest[];
  pushes: PushedRecord[];
  /** Every copy of a record that was pushed, by `kind id`. */
  copies: Map<string, PushedRecord[]>;
  statuses: StatusChange[];
  /** Requests that a crash cut short or whose end was not recorded, by event. */
  interruptions: Map<string, number>;
  /** What broke a rule, in the order of time. */
  violations: Violation[];
  counts: { batches: number; refused: number; interrupted: number; repeated: number };
}

export interface Violation {
  invariant: string;
  says: string;
  invoiceId: string | null;
}

export const createJournal = (): Journal => ({
  wire: [],
  pushes: [],
  copies: new Map(),
  statuses: [],
  interruptions: new Map(),
  violations: [],
  counts: { batches: 0, refused: 0, interrupted: 0, repeated: 0 },
});

export const keyOf = (kind: RecordKindName, id: string) => `${kind} ${id}`;

/** The newest copy of a record that was acknowledged at `atMs` or before; of two with one moment the first. */
export function latestAcknowledged(
  journal: Journal,
  kind: RecordKindName,
  id: string,
  atMs = Number.POSITIVE_INFINITY,
) {
  let newest: PushedRecord | null = null;
  for (const push of journal.copies.get(keyOf(kind, id)) ?? []) {
    if (push.ackMs === null || push.ackMs > atMs) continue;
    if (newest === null || push.record.updatedAt > newest.record.updatedAt) newest = push;
  }
  return newest;
}

/** Writes down that records go out. A copy that went out before is the same push. */
export function recordPushed(
  journal: Journal,
  kind: RecordKindName,
  records: readonly StoredRecord[],
  nowMs: number,
): PushedRecord[] {
  return records.map((record) => {
    const key = keyOf(kind, record.id);
    const copies = journal.copies.get(key) ?? [];
    journal.copies.set(key, copies);
    const known = copies.find((copy) => copy.record === record);
    if (known) return known;
    const push: PushedRecord = { kind, record, firstMs: nowMs, ackMs: null };
    copies.push(push);
    journal.pushes.push(push);
    return push;
  });
}

export const recordViolation = (journal: Journal, invariant: string, says: string, invoiceId: string | null = null) =>
  void journal.violations.push({ invariant, says, invoiceId });
