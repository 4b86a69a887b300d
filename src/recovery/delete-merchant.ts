import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { audit } from "../store/audit-log.ts";
import type { Database } from "../store/database.ts";
import {
  closeMerchant,
  deleteDeliveries,
  deleteMerchantRow,
  deleteRows,
  type MerchantTable,
  merchantTables,
} from "../store/merchant-rows.ts";
import { holdMerchant } from "../store/merchants.ts";
import { NOBODY } from "../store/request-log.ts";

/** In one transaction, so that others wait only briefly. */
const ROWS_AT_ONCE = 2_000;

export interface Deleting {
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
export async function deleteMerchant(deleting: Deleting, merchantId: string): Promise<number> {
  const { owner, ports, actor, requestsEnded } = deleting;
  const found = await owner.transaction(async (tx) => {
    const merchant = await holdMerchant(tx, merchantId);
    await closeMerchant(tx, merchantId);
    return merchant;
  });
  const tables = await merchantTables(owner);
  let rows = await deleteInBatches(deleting, tables, merchantId);
  await requestsEnded();
  rows += await deleteInBatches(deleting, tables, merchantId);
  if (rows === 0 && !found) return 0;
  return await owner.transaction(async (tx) => {
    await holdMerchant(tx, merchantId);
    for (const table of tables) rows += await deleteRows(tx, table, merchantId, null);
    await deleteMerchantRow(tx, merchantId);
    await audit(tx, NOBODY, actor, { deed: "merchant.deleted", object: merchantId, details: { rows } }, ports);
    return rows;
  });
}

async function deleteInBatches(
  { owner, onWithdrawn, onRows }: Deleting,
  tables: readonly MerchantTable[],
  merchantId: string,
): Promise<number> {
  let all = 0;
  for (let isMore = true; isMore; ) {
    const ids = await owner.transaction((tx) => deleteDeliveries(tx, merchantId, ROWS_AT_ONCE));
    if (ids.length > 0) await onWithdrawn(merchantId, ids);
    all += ids.length;
    isMore = ids.length === ROWS_AT_ONCE;
  }
  for (const table of tables)
    for (let isMore = true; isMore; ) {
      const rows = await owner.transaction((tx) => deleteRows(tx, table, merchantId, ROWS_AT_ONCE));
      onRows(rows);
      all += rows;
      isMore = rows === ROWS_AT_ONCE;
    }
  return all;
}
