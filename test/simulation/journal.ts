import type { RecordKindName, StoredRecord } from "./actors/record-conversion.ts";

/** A request that reached the wire, as seen from outside. */
export interface WireRequest {
  eventId: string;
  invoiceId: string;
  body: string;
  path: string;
  /** The life of the process that made it. */
  life: number;
  startMs: number;
  /** Null: no answer was received. */
  endMs: number | null;
  /** Null: no status line came. */
  status: number | null;
  /** Whether the merchant handled it, regardless of the answer. */
  handled: boolean;
}

/** A pushed record: when it was first pushed, and when it was acknowledged. */
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

/** The external view, kept apart from the database that is checked against it. */
export interface Journal {
  wire: WireRequest[];
  pushes: PushedRecord[];
  /** Every pushed version of a record, by `kind id`. */
  copies: Map<string, PushedRecord[]>;
  statuses: StatusChange[];
  /** Requests that a crash cut short or whose end was not recorded, by event. */
  interruptions: Map<string, number>;
  /** Broken rules, in order of time. */
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

/** Returns the newest version of a record acknowledged by `atMs`; of two with the same date the first. */
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

/** Records that versions are pushed. A version pushed before is the same push. */
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
