import type { Case } from "../domain/case.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import { type Invoice, isInRecovery } from "../domain/invoice.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import type { Tx } from "../postgres/database.ts";
import { type Balance, computeBalance } from "../recovery/balance.ts";
import { LEDGER_WINDOW_MS } from "../recovery/load-cases.ts";
import { type PaymentProfile, paymentProfileOf } from "../recovery/payment-profile.ts";
import { listPersonsRequests, type PersonsRequest } from "../tables/audit-log.ts";
import { casesOfInvoice } from "../tables/cases.ts";
import { decisionsOfCases, type explanatoryDecisions } from "../tables/decisions.ts";
import { findInvoices } from "../tables/invoices.ts";
import { findMerchant } from "../tables/merchants.ts";
import { recoveryActionsOfCases } from "../tables/recovery-actions.ts";
import { listRecoveryRules } from "../tables/recovery-rules.ts";
import { type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";

/** The stored facts of an invoice and its latest case. Lists are oldest first. */
export interface ExplainedCase {
  invoice: Invoice;
  case: Case | null;
  earlierCases: readonly Case[];
  actions: readonly RecoveryAction[];
  /** Attempts on the invoice. */
  transactions: readonly TransactionFacts[];
  /** The payment method and the time zone, as decisions use them. */
  payer: PaymentProfile;
  decisions: readonly DecisionRecord[];
  /** Null while the invoice is not in recovery. */
  balance: Balance | null;
  /** The merchant's smallest amount for a retry, in minor units. */
  smallestAmount: number;
  /** The recovery rule that decides, or decided at the end; null if none did or it was deleted since. */
  rule: NumberedRule | null;
  /** What people, keys and commands requested, in earlier cases too. */
  requests: readonly PersonsRequest[];
  now: Date;
}

/**
 * Loads the facts for `buildExplanation`; null if there is no such invoice.
 *
 * @param ofCases  loads all decisions of cases, or for a fast page only those that the answers need
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
  const recoveryCase = cases.at(-1) ?? null;
  const caseIds = recoveryCase ? [recoveryCase.id] : [];
  const { customerId } = recoveryCase ?? invoice;
  const since = new Date((recoveryCase?.unpaidAt ?? now).getTime() - LEDGER_WINDOW_MS);
  const ruleId = recoveryCase?.ruleId ?? null;
  const [attempts, actions, decisions, rules, requests] = await Promise.all([
    transactionsForCases(tx, merchantId, [invoiceId], [customerId], since),
    recoveryActionsOfCases(tx, merchantId, caseIds),
    ofCases(tx, merchantId, caseIds),
    ruleId === null ? [] : listRecoveryRules(tx, merchantId),
    cases.length === 0 ? [] : listPersonsRequests(tx, merchantId, invoiceId, cases[0]!.id),
  ]);
  return {
    invoice,
    case: recoveryCase,
    earlierCases: cases.slice(0, -1),
    actions,
    transactions: attempts.filter((each) => each.invoiceId === invoiceId),
    payer: paymentProfileOf({ case: { customerId }, invoice, transactions: attempts }),
    decisions,
    balance: isInRecovery(invoice.state) ? computeBalance(invoice, attempts) : null,
    smallestAmount: merchant?.smallestAmount ?? 0,
    rule: rules.find(({ id }) => id === ruleId) ?? null,
    requests,
    now,
  };
}
