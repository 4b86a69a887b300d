import type { Problem } from "../harness/problems.ts";
import type { StoredRecord, StoredRows } from "../harness/stored-rows.ts";
import type { Batch } from "./record-pusher.ts";
import type { RecordKindName, SentRecord, SentRecords } from "./sent-records.ts";

const KINDS: readonly RecordKindName[] = ["subscriptions", "invoices", "transactions"];

/** Checks I1 and I2: acknowledged records are stored, and no batch is stored partially. */
export function verifyRecords(books: SentRecords, batches: readonly Batch[], rows: StoredRows) {
  const problems: Problem[] = [];
  const counts = { acknowledged: 0, lost: 0, batches: batches.length, abandoned: 0, abandonedStored: 0 };
  const stored = new Map(KINDS.map((kind) => [kind, new Map(rows.records[kind].map((row) => [row.id, row]))] as const));
  for (const kind of KINDS)
    for (const [id, { copies, acknowledged }] of books.sent[kind]) {
      if (acknowledged !== null) counts.acknowledged++;
      const row = stored.get(kind)!.get(id);
      const wrong = compareRecord(row, copies, acknowledged);
      if (wrong === null) continue;
      counts.lost++;
      problems.push({ invariant: "I1", says: `${kind} ${id}: ${wrong}` });
    }
  for (const { kind, ids, abandoned } of batches) {
    // A record sent again in a later batch says nothing about this one.
    const own = ids.filter((id) => books.sent[kind].get(id)!.copies.size === 1);
    const found = own.filter((id) => stored.get(kind)!.has(id)).length;
    if (abandoned) counts.abandoned++;
    if (abandoned && found > 0) counts.abandonedStored++;
    if (found !== 0 && found !== own.length)
      problems.push({ invariant: "I2", says: `${kind}: ${found} of ${own.length} stored of the batch of ${ids[0]}` });
  }
  return { problems, counts };
}

function compareRecord(
  row: StoredRecord | undefined,
  copies: ReadonlyMap<string, SentRecord>,
  acknowledged: string | null,
) {
  if (row === undefined) return acknowledged === null ? null : `acknowledged as of ${acknowledged} and not stored`;
  const at = new Date(row.updatedAt).toISOString();
  if (acknowledged !== null && at < acknowledged) return `acknowledged as of ${acknowledged}, stored as of ${at}`;
  const copy = copies.get(at);
  if (copy === undefined) return `stored as of ${at}, a version that was never sent`;
  const state = copy.state.replace(/^(SUBSCRIPTION|INVOICE|TRANSACTION)_STATE_/, "");
  const mark =
    "planId" in copy ? copy.planId : "recoveryActionId" in copy ? copy.recoveryActionId : versionMarkOf(copy);
  const expected = [state, copy.amount, copy.customerId, mark ?? null].join(" ");
  const found = [row.state, row.amount, row.customerId, row.mark].join(" ");
  return expected === found ? null : `sent "${expected}", stored "${found}"`;
}

const versionMarkOf = (copy: SentRecord) =>
  copy.id.startsWith("inv_") ? (copy as { subscriptionId?: string }).subscriptionId : null;
