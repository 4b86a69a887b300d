import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import {
  deleteDeliveries,
  deleteMerchantRow,
  deleteMerchantRows,
  listMerchantTables,
  type MerchantTable,
  revokeMerchantAccess,
} from "../tables/merchant-deletion.ts";
import { lockMerchant } from "../tables/merchants.ts";
import { UNAUTHENTICATED_MERCHANT_ID } from "../tables/request-log.ts";

/** Keeps locks short. */
const ROWS_PER_BATCH = 2_000;

export interface MerchantDeletion {
  /** Owns the tables, and can delete from the audit log. */
  owner: Database;
  ports: Ports;
  actor: Actor;
  /** Called for each batch, because a process may hold prefetched events. */
  onWithdrawn(merchantId: string, eventIds: readonly string[]): Promise<void>;
  onRows(rows: number): void;
  /** Resolves when requests that started before the access was revoked have ended. */
  requestsEnded(): Promise<void>;
}

/**
 * Deletes a merchant in batches. After an interruption, the next call continues. An audit entry outside the merchant keeps the
 * time and the person.
 *
 * @returns the number of rows; 0: no such merchant
 */
export async function deleteMerchant(deletion: MerchantDeletion, merchantId: string): Promise<number> {
  const { owner, ports, actor, requestsEnded } = deletion;
  const found = await owner.transaction(async (tx) => {
    const merchant = await lockMerchant(tx, merchantId);
    await revokeMerchantAccess(tx, merchantId);
    return merchant;
  });
  const tables = await listMerchantTables(owner);
  let rows = await deleteInBatches(deletion, tables, merchantId);
  await requestsEnded();
  rows += await deleteInBatches(deletion, tables, merchantId);
  if (rows === 0 && !found) return 0;
  return await owner.transaction(async (tx) => {
    await lockMerchant(tx, merchantId);
    for (const table of tables) rows += await deleteMerchantRows(tx, table, merchantId, null);
    await deleteMerchantRow(tx, merchantId);
    await writeAuditEntry(
      tx,
      UNAUTHENTICATED_MERCHANT_ID,
      actor,
      { operation: "merchant.deleted", object: merchantId, details: { rows } },
      ports,
    );
    return rows;
  });
}

async function deleteInBatches(
  { owner, onWithdrawn, onRows }: MerchantDeletion,
  tables: readonly MerchantTable[],
  merchantId: string,
): Promise<number> {
  let total = 0;
  for (let hasMore = true; hasMore; ) {
    const ids = await owner.transaction((tx) => deleteDeliveries(tx, merchantId, ROWS_PER_BATCH));
    if (ids.length > 0) await onWithdrawn(merchantId, ids);
    total += ids.length;
    hasMore = ids.length === ROWS_PER_BATCH;
  }
  for (const table of tables)
    for (let hasMore = true; hasMore; ) {
      const rows = await owner.transaction((tx) => deleteMerchantRows(tx, table, merchantId, ROWS_PER_BATCH));
      onRows(rows);
      total += rows;
      hasMore = rows === ROWS_PER_BATCH;
    }
  return total;
}
