import type { Case } from "../domain/case.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import { casesOfInvoice } from "../store/cases.ts";
import type { Tx } from "../store/database.ts";
import { decisionsOfCase } from "../store/decisions.ts";
import { findInvoices } from "../store/invoices.ts";
import { recoveryActionsOfCases } from "../store/recovery-actions.ts";
import { type TransactionFacts, transactionsForCases } from "../store/transactions.ts";
import { type Payer, payerOf } from "./payer.ts";
import { LEDGER_MS } from "./views.ts";

/** What is kept of an invoice's latest case. Lists are oldest first. */
export interface Explained {
  invoice: Invoice;
  case: Case | null;
  earlierCases: number;
  actions: readonly RecoveryAction[];
  /** Those on the invoice. */
  transactions: readonly TransactionFacts[];
  /** By whom and on whose clock it is paid, as deciding sees it. */
  payer: Payer;
  decisions: readonly DecisionRecord[];
  now: Date;
}

/** All that is kept of an invoice's latest case: what `explanationOf` puts into words. Null when there is no such invoice. */
export async function explain(tx: Tx, merchantId: string, invoiceId: string, now: Date): Promise<Explained | null> {
  const invoice = (await findInvoices(tx, merchantId, [invoiceId])).get(invoiceId);
  if (!invoice) return null;
  const cases = await casesOfInvoice(tx, merchantId, invoiceId);
  const kase = cases.at(-1) ?? null;
  const caseIds = kase ? [kase.id] : [];
  const { customerId } = kase ?? invoice;
  const since = new Date((kase?.unpaidAt ?? now).getTime() - LEDGER_MS);
  const attempts = await transactionsForCases(tx, merchantId, [invoiceId], [customerId], since);
  return {
    invoice,
    case: kase,
    earlierCases: Math.max(0, cases.length - 1),
    actions: await recoveryActionsOfCases(tx, merchantId, caseIds),
    transactions: attempts.filter((each) => each.invoiceId === invoiceId),
    payer: payerOf({ case: { customerId }, invoice, transactions: attempts }),
    decisions: kase ? await decisionsOfCase(tx, merchantId, kase.id) : [],
    now,
  };
}
