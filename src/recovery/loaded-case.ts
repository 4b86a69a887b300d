import type { Case } from "../domain/case.ts";
import type { PreviousDecision } from "../domain/decision.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import type { CaseRule } from "../tables/cases.ts";
import type { CustomerInvoice } from "../tables/customer-invoices.ts";
import type { InvoiceConflict } from "../tables/invoice-conflicts.ts";
import type { PendingRetryRequest } from "../tables/recovery-actions.ts";
import type { SubscriptionFacts } from "../tables/subscriptions.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import type { DeliveredAction } from "./outcome.ts";

export interface LoadedCase {
  /** With the window and the budget of `rule`. */
  case: Case;
  /** With the lead of `rule`. */
  merchant: Merchant;
  invoice: Invoice;
  subscription: SubscriptionFacts | null;
  /** The customer's latest invoices, in any order; empty for the static engine. */
  customerInvoices: readonly CustomerInvoice[];
  /** Oldest first. */
  actions: readonly DeliveredAction[];
  /**
   * On the invoice, by the customer, on the customer's cards, and on other cards of the few customers who share one; oldest
   * first.
   */
  transactions: readonly TransactionFacts[];
  /**
   * Declines older than `transactions` that block their card for good, and each such card's latest earlier charge that went
   * through; oldest first.
   */
  blockingAttempts: readonly TransactionFacts[];
  /** The customer's disputed payments without a successful charge on their card or account since. */
  disputed: readonly TransactionFacts[];
  storedConflict: InvoiceConflict | null;
  /** In any of the customer's cases, not answered by a transaction. */
  pendingRequests: readonly PendingRetryRequest[];
  /**
   * When the card's bank, or the route to unnamed banks, was last found down, if it is down now; null also if outages were not
   * loaded.
   */
  issuerDownAt: Date | null;
  lastDecision: PreviousDecision | null;
  /** Which of the events sent once per case exist already. */
  sentOnceEvents: { pauseCollection: boolean; completeDunning: boolean; recoveryEnded: boolean };
  /** The recovery rule that decides an open case; absent if none does. */
  rule?: NumberedRule | null;
  /** If the step must save it. */
  newRule?: CaseRule | null;
  /** Whether a person ends the case with this step. */
  isStopped?: true;
  /** Whether this step requests a retry at once, which the merchant asked for by hand. */
  isRetriedNow?: true;
}
