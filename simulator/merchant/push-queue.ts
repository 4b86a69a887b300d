import type { Invoice, Subscription, Transaction } from "#sdk";

/**
 * Records that wait to be pushed, oldest first.
 *
 * Transactions are pushed before invoices, so that the cause of an unpaid invoice is known before the invoice.
 */
export interface PushQueue {
  subscriptions: Subscription[];
  transactions: Transaction[];
  invoices: Invoice[];
}

export const createPushQueue = (): PushQueue => ({ subscriptions: [], transactions: [], invoices: [] });

export const isQueueEmpty = ({ subscriptions, transactions, invoices }: PushQueue) =>
  subscriptions.length + transactions.length + invoices.length === 0;
