import type { Invoice } from "../../../src/domain/invoice.ts";
import type { Merchant } from "../../../src/domain/merchant.ts";
import type { Ports } from "../../../src/domain/ports.ts";
import type { Subscription } from "../../../src/domain/subscription.ts";
import type { Transaction } from "../../../src/domain/transaction.ts";
import { ingestSubscriptions, ingestTransactions } from "../../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../../src/ingest/ingest-invoices.ts";
import type { Database } from "../../../src/postgres/database.ts";
import { type Journal, keyOf, recordViolation } from "../journal.ts";
import type { Observe } from "../stage/observer.ts";
import type { RecordKindName, StoredRecord } from "./record-conversion.ts";

/** Passes batches to ingest, and checks the results of those that were cut short. */
export interface Pusher {
  /** Returns whether the push was acknowledged. */
  push(kind: RecordKindName, records: readonly StoredRecord[]): Promise<boolean>;
  acknowledged(kind: RecordKindName, records: readonly StoredRecord[]): Promise<void>;
}

interface Options {
  draw(): number;
  /** The database as the live process sees it; null between two lives. */
  entrance(): Database | null;
  merchant: Merchant;
  ports: Ports;
  journal: Journal;
  observe: Observe;
  onAcknowledged(kind: RecordKindName, records: readonly StoredRecord[]): Promise<void>;
  /** Called when the deciding loop may have work. */
  onIngested(): void;
}

const POISONED_RATE = 0.02;
const CHECKED_RATE = 0.1;

export function createPusher(options: Options): Pusher {
  const { draw, merchant, ports, journal, observe } = options;
  const inFlight = new Map<string, number>();

  async function versions(kind: RecordKindName, records: readonly StoredRecord[]) {
    const ids = records.map(({ id }) => id);
    const rows = await observe<{ id: string; updatedAt: Date }>(
      `select id, updated_at as "updatedAt" from ${kind} where merchant_id = $1 and id = any($2)`,
      [merchant.id, ids],
    );
    return new Map(rows.map((row) => [row.id, row.updatedAt.getTime()]));
  }

  function ingest(db: Database, kind: RecordKindName, records: readonly StoredRecord[]) {
    if (kind === "subscriptions")
      return ingestSubscriptions(db, merchant, [[...(records as Subscription[])]], ports, () => {});
    if (kind === "transactions")
      return ingestTransactions(db, merchant, [[...(records as Transaction[])]], ports, () => {});
    return ingestInvoices(db, merchant, [[...(records as Invoice[])]], ports, () => {});
  }

  /** Checks I2: of the new versions in this batch, all are stored or none. */
  async function checkWhole(kind: RecordKindName, records: readonly StoredRecord[], isAcknowledged: boolean) {
    const after = await versions(kind, records);
    // Another version with the same or a later date says nothing about this batch.
    const news = records.filter((record) =>
      (journal.copies.get(keyOf(kind, record.id)) ?? []).every(
        (copy) => copy.record === record || copy.record.updatedAt < record.updatedAt,
      ),
    );
    const stored = news.filter(({ id, updatedAt }) => (after.get(id) ?? -Infinity) >= updatedAt.getTime());
    const invoiceId = invoiceIdOf(records[0]!);
    if (stored.length > 0 && stored.length < news.length)
      recordViolation(
        journal,
        "I2",
        `of a batch of ${news.length} new ${kind} only ${stored.length} were stored`,
        invoiceId,
      );
    if (isAcknowledged && stored.length < news.length)
      recordViolation(journal, "I1", `${news.length - stored.length} acknowledged ${kind} are not stored`, invoiceId);
    if (kind === "invoices" && stored.length > 0) await checkCases(stored as Invoice[]);
  }

  /** Checks I2: an invoice is stored together with its effect on the case. */
  async function checkCases(stored: readonly Invoice[]) {
    const rows = await observe<{ invoiceId: string; open: boolean }>(
      `select invoice_id as "invoiceId", bool_or(ended_at is null) as open from cases
       where merchant_id = $1 and invoice_id = any($2) group by 1`,
      [merchant.id, stored.map(({ id }) => id)],
    );
    const cases = new Map(rows.map((row) => [row.invoiceId, row.open]));
    for (const { id, state } of stored) {
      if (state === "UNPAID" && !cases.has(id))
        recordViolation(journal, "I2", "an unpaid invoice was stored without its case", id);
      if (state !== "UNPAID" && cases.get(id))
        recordViolation(journal, "I2", `the invoice was stored as ${state} and its case is open`, id);
    }
  }

  async function isTaken(kind: RecordKindName, records: readonly StoredRecord[]) {
    const db = options.entrance();
    if (db === null) return false;
    try {
      await ingest(db, kind, records);
      return true;
    } catch {
      return false;
    }
  }

  async function pushPoisoned(kind: RecordKindName, records: readonly StoredRecord[]) {
    const before = await versions(kind, records);
    const poison = { ...records[0]!, id: `zz_${records[0]!.id}`, currency: null as unknown as string };
    if (await isTaken(kind, [...records, poison]))
      recordViolation(journal, "I2", "a batch with an impossible record was taken", invoiceIdOf(records[0]!));
    journal.counts.refused++;
    const after = await versions(kind, [...records, poison]);
    const changed = records.filter(
      ({ id }) => after.get(id) !== before.get(id) && (inFlight.get(`${kind} ${id}`) ?? 0) <= 1,
    );
    if (changed.length > 0 || after.has(poison.id))
      recordViolation(journal, "I2", "of a batch that was refused something was stored", invoiceIdOf(records[0]!));
  }

  return {
    async push(kind, records) {
      for (const { id } of records) inFlight.set(`${kind} ${id}`, (inFlight.get(`${kind} ${id}`) ?? 0) + 1);
      try {
        if (draw() < POISONED_RATE) await pushPoisoned(kind, records);
        const taken = await isTaken(kind, records);
        options.onIngested();
        if (taken) journal.counts.batches++;
        else journal.counts.interrupted++;
        if (!taken || draw() < CHECKED_RATE) await checkWhole(kind, records, taken);
        return taken;
      } finally {
        for (const { id } of records) inFlight.set(`${kind} ${id}`, inFlight.get(`${kind} ${id}`)! - 1);
      }
    },
    acknowledged: options.onAcknowledged,
  };
}

const invoiceIdOf = (record: StoredRecord) => ("invoiceId" in record ? record.invoiceId : record.id);
