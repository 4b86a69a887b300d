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

/** In one transaction, so that others wait only briefly. */
const ROWS_PER_BATCH = 2_000;

export interface MerchantDeletion {
  /** The owner of the tables: the audit log is deleted, too. */
  owner: Database;
  ports: Ports;
  actor: Actor;
  /** Told batch by batch: a process may have read the events ahead. */
  onWithdrawn(merchantId: string, eventIds: readonly string[]): Promise<void>;
  /** Told of each batch of rows. */
  onRows(rows: number): void;
  /** Resolves when requests that began before access was closed have ended. */
  requestsEnded(): Promise<void>;
}

/**
 * Deletes a merchant, table by table in batches, and the merchant itself in the end. If it is cut off, it goes on when it is called again. An entry in the audit log
 * that belongs to no merchant keeps the time and the person.
 *
 * @returns how many rows there were; 0: there is nothing of such a merchant
 */
export async function deleteMerchant(deleting: MerchantDeletion, merchantId: string): Promise<number> {
  const { owner, ports, actor, requestsEnded } = deleting;
  const found = await owner.transaction(async (tx) => {
    const merchant = await lockMerchant(tx, merchantId);
    await revokeMerchantAccess(tx, merchantId);
    return merchant;
  });
  const tables = await listMerchantTables(owner);
  let rows = await deleteInBatches(deleting, tables, merchantId);
  await requestsEnded();
  rows += await deleteInBatches(deleting, tables, merchantId);
  if (rows === 0 && !found) return 0;
  return await owner.transaction(async (tx) => {
    await lockMerchant(tx, merchantId);
    for (const table of tables) rows += await deleteMerchantRows(tx, table, merchantId, null);
    await deleteMerchantRow(tx, merchantId);
    await writeAuditEntry(
      tx,
      UNAUTHENTICATED_MERCHANT_ID,
      actor,
      { deed: "merchant.deleted", object: merchantId, details: { rows } },
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
  let all = 0;
  for (let isMore = true; isMore; ) {
    const ids = await owner.transaction((tx) => deleteDeliveries(tx, merchantId, ROWS_PER_BATCH));
    if (ids.length > 0) await onWithdrawn(merchantId, ids);
    all += ids.length;
    isMore = ids.length === ROWS_PER_BATCH;
  }
  for (const table of tables)
    for (let isMore = true; isMore; ) {
      const rows = await owner.transaction((tx) => deleteMerchantRows(tx, table, merchantId, ROWS_PER_BATCH));
      onRows(rows);
      all += rows;
      isMore = rows === ROWS_PER_BATCH;
    }
  return all;
}
