import type { Case } from "../domain/case.ts";
import type { PreviousDecision } from "../domain/decision.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { CustomerInvoice } from "../tables/customer-invoices.ts";
import type { InvoiceConflict } from "../tables/invoice-conflicts.ts";
import type { PendingRetryRequest } from "../tables/recovery-actions.ts";
import type { SubscriptionFacts } from "../tables/subscriptions.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import type { DeliveredAction } from "./outcome.ts";

/** All that is known about a case. */
export interface LoadedCase {
  case: Case;
  merchant: Merchant;
  invoice: Invoice;
  subscription: SubscriptionFacts | null;
  /** The customer's latest bills, in any order; none when nobody asks for them. */
  bills: readonly CustomerInvoice[];
  /** Oldest first. */
  actions: readonly DeliveredAction[];
  /** Attempts on the invoice, by the customer, on the customer's cards, and on other cards by the few who share one of these; oldest first. */
  transactions: readonly TransactionFacts[];
  /** Declines from before those that bar their card for good, and the newest charge from before them on each such card that went through; oldest first. */
  barring: readonly TransactionFacts[];
  /** Disputed payments of the customer whose card or account was not charged successfully since. */
  disputed: readonly TransactionFacts[];
  /** What is stored of facts about its invoice that contradict each other. */
  storedConflict: InvoiceConflict | null;
  /** Retries asked for in any case of the customer that no transaction answers. */
  asks: readonly PendingRetryRequest[];
  /** When the card's bank, or where none is named the way to it, was found down last, if it is down; null also when nobody asks. */
  issuerDownAt: Date | null;
  /** What was decided last. */
  lastDecision: PreviousDecision | null;
  /** Which of the events that go out once per case have gone out. */
  told: { pauseCollection: boolean; completeDunning: boolean };
  /** A person ends the case with this step. */
  isStopped?: true;
}
