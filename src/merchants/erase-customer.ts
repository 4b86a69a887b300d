import { createHash } from "node:crypto";
import type { OnWithdrawn } from "../domain/event.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { redactAuditEntries, writeAuditEntry } from "../tables/audit-log.ts";
import {
  type CustomerCounts,
  clearPayer,
  countCustomerRecords,
  deleteCaseContents,
  deleteInvoices,
  deleteRestOfCustomer,
  deleteTransactions,
  invoicesOfCustomer,
  lockCasesToDelete,
  lockInvoicesOfCustomer,
  reassignCases,
  transactionsOfCustomer,
} from "../tables/erasure.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import { forgetCustomerInRules } from "../tables/recovery-rules.ts";
import { deleteCases } from "../tables/recovery-sums.ts";

/** Keeps locks short. */
const INVOICES_PER_BATCH = 50;
const TRANSACTIONS_PER_BATCH = 1_000;

export interface CustomerErasure {
  /** Owns the tables, and can change the audit log. */
  owner: Database;
  ports: Ports;
  actor: Actor;
  /** Called for each batch, because a process may hold prefetched events. */
  onWithdrawn(...withdrawn: Parameters<OnWithdrawn>): Promise<void>;
}

/** Returns the customer's name in the audit log, which only a reader who knows the id can recognize. */
export const erasedCustomerHash = (merchantId: string, customerId: string): string =>
  `sha256:${createHash("sha256").update(`${merchantId}/${customerId}`).digest("hex")}`;

/**
 * Erases a customer in batches, invoices in recovery first. After an interruption, the next call continues. Later records with
 * the same id belong to a new customer.
 *
 * @returns the counts before the erasure
 */
export async function eraseCustomer(
  { owner, ports, actor, onWithdrawn }: CustomerErasure,
  merchantId: string,
  customerId: string,
): Promise<CustomerCounts> {
  const object = erasedCustomerHash(merchantId, customerId);
  const logErasure = (operation: string, counts: CustomerCounts) => (tx: Tx) =>
    writeAuditEntry(tx, merchantId, actor, { operation, object, details: { ...counts } }, ports);
  const counts = await countCustomerRecords(owner, merchantId, customerId);
  await owner.transaction(logErasure("customer.erasing", counts));
  for (;;) {
    const withdrawn = await owner.transaction((tx) => eraseInvoices(tx, merchantId, customerId, ports));
    if (withdrawn === null) break;
    if (withdrawn.length > 0) await onWithdrawn(merchantId, withdrawn);
  }
  for (;;) {
    const ids = await transactionsOfCustomer(owner, merchantId, customerId, TRANSACTIONS_PER_BATCH);
    if (ids.length === 0) break;
    // The other invoices belong to other customers. Without the payment, Dunlin would collect them again.
    await owner.transaction(async (tx) =>
      deleteTransactions(tx, merchantId, ids, await clearPayer(tx, merchantId, ids)),
    );
  }
  await owner.transaction(async (tx) => {
    await deleteRestOfCustomer(tx, merchantId, customerId);
    await forgetCustomerInRules(tx, merchantId, customerId);
    await logErasure("customer.erased", counts)(tx);
  });
  return counts;
}

/** Returns the withdrawn events; null: no invoices are left. */
async function eraseInvoices(tx: Tx, merchantId: string, customerId: string, ports: Ports): Promise<string[] | null> {
  const invoiceIds = await invoicesOfCustomer(tx, merchantId, customerId, INVOICES_PER_BATCH);
  if (invoiceIds.length === 0) return null;
  const lockedIds = await lockInvoicesOfCustomer(tx, merchantId, invoiceIds, customerId);
  const caseIds = await lockCasesToDelete(tx, merchantId, invoiceIds, customerId, lockedIds);
  await advanceMerchantClock(tx, merchantId, ports.now());
  const { events, withdrawn } = await deleteCaseContents(tx, merchantId, caseIds);
  const reassigned = await reassignCases(tx, merchantId, caseIds, customerId);
  await deleteCases(
    tx,
    merchantId,
    caseIds.filter((id) => !reassigned.includes(id)),
  );
  await deleteInvoices(tx, merchantId, lockedIds);
  await redactAuditEntries(tx, merchantId, [...lockedIds, ...events]);
  return withdrawn;
}
