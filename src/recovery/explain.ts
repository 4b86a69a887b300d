import { casesOfInvoice } from "../store/cases.ts";
import type { Tx } from "../store/database.ts";
import { decisionsOfCase } from "../store/decisions.ts";
import { findInvoices } from "../store/invoices.ts";
import { recoveryActionsOfCases } from "../store/recovery-actions.ts";
import { transactionsForCases } from "../store/transactions.ts";
import type { Explained } from "./explanation.ts";

/** All that is kept of an invoice's latest case: what `explanationOf` puts into words. Null when there is no such invoice. */
export async function explain(tx: Tx, merchantId: string, invoiceId: string, now: Date): Promise<Explained | null> {
  const invoice = (await findInvoices(tx, merchantId, [invoiceId])).get(invoiceId);
  if (!invoice) return null;
  const cases = await casesOfInvoice(tx, merchantId, invoiceId);
  const kase = cases.at(-1) ?? null;
  const caseIds = kase ? [kase.id] : [];
  return {
    invoice,
    case: kase,
    earlierCases: Math.max(0, cases.length - 1),
    actions: await recoveryActionsOfCases(tx, merchantId, caseIds),
    transactions: await transactionsForCases(tx, merchantId, [invoiceId], [], now),
    decisions: kase ? await decisionsOfCase(tx, merchantId, kase.id) : [],
    now,
  };
}
