import type { Case } from "../domain/case.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import { type Invoice, isInRecovery } from "../domain/invoice.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Tx } from "../postgres/database.ts";
import { type Balance, computeBalance } from "../recovery/balance.ts";
import { LEDGER_WINDOW_MS } from "../recovery/load-cases.ts";
import { type PaymentProfile, paymentProfileOf } from "../recovery/payment-profile.ts";
import { casesOfInvoice } from "../tables/cases.ts";
import { decisionsOfCases, type explanatoryDecisions } from "../tables/decisions.ts";
import { findInvoices } from "../tables/invoices.ts";
import { findMerchant } from "../tables/merchants.ts";
import { recoveryActionsOfCases } from "../tables/recovery-actions.ts";
import { type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";

/** What is kept of an invoice's latest case. Lists are oldest first. */
export interface ExplainedCase {
  invoice: Invoice;
  case: Case | null;
  earlierCases: readonly Case[];
  actions: readonly RecoveryAction[];
  /** Those on the invoice. */
  transactions: readonly TransactionFacts[];
  /** By whom and on whose clock it is paid, as deciding sees it. */
  payer: PaymentProfile;
  decisions: readonly DecisionRecord[];
  /** What is owed; null while the invoice is out of recovery. */
  balance: Balance | null;
  /** The merchant makes no retry for less than this, in minor units. */
  smallestAmount: number;
  now: Date;
}

/**
 * What is kept of an invoice's latest case: what `buildExplanation` puts into words. Null when there is no such invoice.
 *
 * @param ofCases  reads the decisions in cases: all of them, or, for a page that is to be there at once, those that people are answered by
 */
export async function loadExplainedCase(
  tx: Tx,
  merchantId: string,
  invoiceId: string,
  now: Date,
  ofCases: typeof decisionsOfCases | typeof explanatoryDecisions = decisionsOfCases,
): Promise<ExplainedCase | null> {
  const [invoices, cases, merchant] = await Promise.all([
    findInvoices(tx, merchantId, [invoiceId]),
    casesOfInvoice(tx, merchantId, invoiceId),
    findMerchant(tx, merchantId),
  ]);
  const invoice = invoices.get(invoiceId);
  if (!invoice) return null;
  const kase = cases.at(-1) ?? null;
  const caseIds = kase ? [kase.id] : [];
  const { customerId } = kase ?? invoice;
  const since = new Date((kase?.unpaidAt ?? now).getTime() - LEDGER_WINDOW_MS);
  const [attempts, actions, decisions] = await Promise.all([
    transactionsForCases(tx, merchantId, [invoiceId], [customerId], since),
    recoveryActionsOfCases(tx, merchantId, caseIds),
    ofCases(tx, merchantId, caseIds),
  ]);
  return {
    invoice,
    case: kase,
    earlierCases: cases.slice(0, -1),
    actions,
    transactions: attempts.filter((each) => each.invoiceId === invoiceId),
    payer: paymentProfileOf({ case: { customerId }, invoice, transactions: attempts }),
    decisions,
    balance: isInRecovery(invoice.state) ? computeBalance(invoice, attempts) : null,
    smallestAmount: merchant?.smallestAmount ?? 0,
    now,
  };
}
