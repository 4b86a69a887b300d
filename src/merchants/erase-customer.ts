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
  deleteCases,
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

/** In one transaction, so that others wait only briefly. */
const INVOICES_PER_BATCH = 50;
const TRANSACTIONS_PER_BATCH = 1_000;

export interface CustomerErasure {
  /** The owner of the tables: the audit log is changed, too. */
  owner: Database;
  ports: Ports;
  actor: Actor;
  /** Told at once, batch by batch: a process may have read the events ahead. */
  onWithdrawn(...withdrawn: Parameters<OnWithdrawn>): Promise<void>;
}

/** Returns the name of an erased customer in the audit log: a reader who knows the id can recognize it. */
export const erasedCustomerHash = (merchantId: string, customerId: string): string =>
  `sha256:${createHash("sha256").update(`${merchantId}/${customerId}`).digest("hex")}`;

/**
 * Erases a customer, invoice by invoice, those in recovery first. If it is cut off, it goes on when it is called again. What arrives later under the
 * same id is a new customer.
 *
 * @returns what there was
 */
export async function eraseCustomer(
  { owner, ports, actor, onWithdrawn }: CustomerErasure,
  merchantId: string,
  customerId: string,
): Promise<CustomerCounts> {
  const object = erasedCustomerHash(merchantId, customerId);
  const note = (deed: string, counts: CustomerCounts) => (tx: Tx) =>
    writeAuditEntry(tx, merchantId, actor, { deed, object, details: { ...counts } }, ports);
  const counts = await countCustomerRecords(owner, merchantId, customerId);
  await owner.transaction(note("customer.erasing", counts));
  for (;;) {
    const withdrawn = await owner.transaction((tx) => eraseInvoices(tx, merchantId, customerId, ports));
    if (withdrawn === null) break;
    if (withdrawn.length > 0) await onWithdrawn(merchantId, withdrawn);
  }
  for (;;) {
    const ids = await transactionsOfCustomer(owner, merchantId, customerId, TRANSACTIONS_PER_BATCH);
    if (ids.length === 0) break;
    // Invoices that are left are those of others, who would be asked again for what this customer paid.
    await owner.transaction(async (tx) =>
      deleteTransactions(tx, merchantId, ids, await clearPayer(tx, merchantId, ids)),
    );
  }
  await owner.transaction(async (tx) => {
    await deleteRestOfCustomer(tx, merchantId, customerId);
    await note("customer.erased", counts)(tx);
  });
  return counts;
}

/** Erases some invoices of the customer. Returns the events that were not delivered yet; null: there are no more invoices. */
async function eraseInvoices(tx: Tx, merchantId: string, customerId: string, ports: Ports): Promise<string[] | null> {
  const found = await invoicesOfCustomer(tx, merchantId, customerId, INVOICES_PER_BATCH);
  if (found.length === 0) return null;
  const own = await lockInvoicesOfCustomer(tx, merchantId, found, customerId);
  const caseIds = await lockCasesToDelete(tx, merchantId, found, customerId, own);
  await advanceMerchantClock(tx, merchantId, ports.now());
  const { events, withdrawn } = await deleteCaseContents(tx, merchantId, caseIds);
  const handed = await reassignCases(tx, merchantId, caseIds, customerId);
  await deleteCases(
    tx,
    merchantId,
    caseIds.filter((id) => !handed.includes(id)),
  );
  await deleteInvoices(tx, merchantId, own);
  await redactAuditEntries(tx, merchantId, [...own, ...events]);
  return withdrawn;
}
